"""Switches the helpers for old scripts on, as TRAINYARD_SHIMS says, and hands over to the sitecustomize that would have
run without us. Whatever goes wrong here is said and must not end the job. Every Python 3 can read it."""

import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))


def _switch_on() -> None:
    names = os.environ.get("TRAINYARD_SHIMS", "")
    if names:
        import trainyard.shims

        trainyard.shims.install(names)


def _hand_over() -> None:
    """The one further down the path, if there is any."""
    from importlib.machinery import PathFinder

    others = [path for path in sys.path if os.path.abspath(path or os.curdir) != _HERE]
    spec = PathFinder.find_spec("sitecustomize", others)
    if spec is not None and spec.loader is not None:
        from importlib.util import module_from_spec

        module = module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)


try:
    _switch_on()
except Exception as error:  # noqa: BLE001 - a helper that fails is no reason for a script not to start
    sys.stderr.write("trainyard: helpers for old scripts could not be switched on: {!r}\n".format(error))
_hand_over()
