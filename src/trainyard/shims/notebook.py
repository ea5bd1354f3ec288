"""The same in a notebook's kernel, which has no script to read: each cell is read before it runs."""

from __future__ import annotations

import sys

from trainyard.shims import program
from trainyard.shims.signs import signs

TYPE_CHECKING = False  # as typing's own, which costs more to import than all of this
if TYPE_CHECKING:
    from typing import Any

_attached = []  # type: list[Any]


def attach() -> None:
    """Does nothing outside of IPython."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None and hasattr(ipython, "get_ipython") else None
    if shell is None or _attached:
        return
    _attached.append(shell)
    shell.events.register("pre_run_cell", _before_cell)
    history = shell.user_ns.get("In") or []
    if history:
        _look(str(history[-1]))  # the cell that switches us on


def _before_cell(info: Any) -> None:
    _look(str(info.raw_cell))


def _look(cell: str) -> None:
    from types import ModuleType

    from trainyard.shims.cells import as_python

    names = _attached[0].user_ns
    known = {name: value.__name__ for name, value in names.items() if isinstance(value, ModuleType)}
    known = {name: _without_version(module) for name, module in known.items()}
    found = signs(as_python(cell), known)
    program.note_cell(found)
    if any(sign.shim == "tensorflow" for sign in found) and "tensorflow" in sys.modules:
        from trainyard.shims.tensorflow_one import version_one

        one = version_one()
        for name, value in list(names.items()):
            if value is sys.modules["tensorflow"]:
                names[name] = one


def _without_version(module: str) -> str:
    """TensorFlow 1's module is a tensorflow to the scripts of its time."""
    return "tensorflow" if module.endswith("compat.v1") else module
