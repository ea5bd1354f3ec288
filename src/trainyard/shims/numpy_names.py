"""`np.float` and its like: names that NumPy has dropped, given back when a script asks for one. And numbers as text: a
request that a notebook makes with str(list(row)) is JSON only without NumPy 2's `np.float64(…)` around each of them."""

from __future__ import annotations

import importlib

from trainyard.shims.hooks import after_import
from trainyard.shims.numpy_table import GONE
from trainyard.shims.report import did

TYPE_CHECKING = False  # as typing's own, which costs more to import than all of this
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any


def install() -> None:
    after_import("numpy", _apply)


def _apply(numpy: ModuleType) -> None:
    missing = vars(numpy).get("__getattr__")

    def __getattr__(name: str) -> Any:
        if name in GONE and name not in vars(numpy):
            value, said = _meaning(numpy, name)
            setattr(numpy, name, value)
            did("numpy", "np." + name + " is gone since NumPy " + GONE[name][0] + "; it stands for " + said + " here.")
            return value
        if missing is not None:
            return missing(name)
        raise AttributeError("module 'numpy' has no attribute " + repr(name))

    setattr(numpy, "__getattr__", __getattr__)
    if not vars(numpy).get("__version__", "1").startswith(("0.", "1.")):
        numpy.set_printoptions(legacy="1.25")


def _meaning(numpy: ModuleType, name: str) -> tuple[Any, str]:
    where, _, what = GONE[name][1].partition(":")
    if where == "ours":
        return _OURS[what](numpy), "what it was"
    if where == "module":
        return importlib.import_module(what), "Python's module " + what
    said = "Python's " if where == "builtins" else where.replace("numpy", "np") + "."
    return getattr(importlib.import_module(where), what), said + what


def _asfarray(numpy: Any) -> Any:
    def asfarray(a: Any, dtype: Any = numpy.float64) -> Any:
        return numpy.asarray(a, dtype=dtype if numpy.issubdtype(dtype, numpy.inexact) else numpy.float64)

    return asfarray


def _find_common_type(numpy: Any) -> Any:
    def find_common_type(array_types: Any, scalar_types: Any) -> Any:
        return numpy.result_type(*array_types, *[numpy.dtype(it).type(0) for it in scalar_types])

    return find_common_type


_OURS: Any = {
    "asfarray": _asfarray,
    "asscalar": lambda numpy: lambda a: a.item(),
    "find_common_type": _find_common_type,
    "minus_infinity": lambda numpy: -numpy.inf,
    "minus_zero": lambda numpy: -0.0,
    "msort": lambda numpy: lambda a: numpy.sort(a, axis=0),
    "zero": lambda numpy: 0.0,
}
