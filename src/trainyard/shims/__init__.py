"""Lets scripts of the years 2018 to 2023 run unedited on today's frameworks, inside the job.

Nothing here imports anything of ours, and a framework is touched only after the script itself has imported it. Every
helper waits for the one thing it is about (a name that is gone, an argument that is refused), says once in the log what
it did, and leaves scripts alone that do without. Standard library only, and no syntax newer than Python 3.7.
"""

from __future__ import annotations

TYPE_CHECKING = False  # as typing's own, which costs more to import than all of this
if TYPE_CHECKING:
    from typing import Iterable


NAMES = ("addresses", "keras", "mnist", "numpy", "sklearn", "tensorflow", "torch")

_installed = set()  # type: set[str]


def install(names: str = "auto") -> tuple[str, ...]:
    """Switch helpers on: `auto`, or some of NAMES with commas between. Asking twice changes nothing."""
    import sys

    wanted = [name for name in _chosen(names) if name not in _installed]
    for name in wanted:
        _installed.add(name)
        _install(name)
    if "IPython" in sys.modules:
        from trainyard.shims import notebook

        notebook.attach()
    return tuple(wanted)


def _chosen(names: str) -> Iterable[str]:
    if names.strip().lower() in ("auto", "1", "true", "yes"):
        return NAMES
    asked = [name.strip().lower() for name in names.split(",") if name.strip()]
    return [name for name in NAMES if name in asked]


def _install(name: str) -> None:
    import importlib

    modules = {
        "addresses": "addresses",
        "keras": "keras_two",
        "mnist": "mnist_examples",
        "numpy": "numpy_names",
        "sklearn": "sklearn_old",
        "tensorflow": "tensorflow_one",
        "torch": "torch_old",
    }
    importlib.import_module("trainyard.shims." + modules[name]).install()
