"""Scripts of TensorFlow 1: their `import tensorflow` is `tensorflow.compat.v1`, with its behaviour; everybody else's is
not. Which script is one is read from its source, before TensorFlow is imported."""

from __future__ import annotations

import builtins
import os
import sys

from trainyard.shims import keras_two, program
from trainyard.shims.hooks import after_import, before_import, provide
from trainyard.shims.report import did

TYPE_CHECKING = False  # as typing's own, which costs more to import than all of this
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any, Callable

_GONE = {
    "contrib": "tf.contrib left TensorFlow with 2.0. Take the part you use from its own project (tf-slim, "
    "tensorflow-addons, tensorflow-probability), or from tf.compat.v1.",
    "estimator": "tf.estimator left TensorFlow with 2.16. Train with tf.keras, or with tf.compat.v1.Session.",
}


def install() -> None:
    before_import("tensorflow", _get_ready)
    after_import("tensorflow", _say_what_is_gone)
    provide("tensorflow.contrib", _no_contrib, package=True)
    original = builtins.__import__

    def __import__(name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0) -> Any:
        module = original(name, globals, locals, fromlist, level)
        if level == 0 and _names_tensorflow(name, fromlist) and program.is_users(globals) and wanted():
            return version_one()
        return module

    builtins.__import__ = __import__


def wanted() -> bool:
    return program.needs("tensorflow")


def version_one() -> ModuleType:
    """TensorFlow 1 as it is inside TensorFlow 2, switched to its own behaviour once."""
    one: Any = sys.modules["tensorflow"].compat.v1
    if not vars(one).get("_trainyard_switched"):
        vars(one)["_trainyard_switched"] = True
        one.disable_v2_behavior()
        _fill(one)
        first = next(sign for sign in program.signs() if sign.shim == "tensorflow")
        said = "this is a script of TensorFlow 1 (" + first.name.replace("tensorflow.", "tf.")
        did("tensorflow", said + "): its tensorflow is tensorflow.compat.v1, with version 1's behaviour.")
    return one  # type: ignore[no-any-return]


def _names_tensorflow(name: str, fromlist: Any) -> bool:
    return name == "tensorflow" or (name.startswith("tensorflow.") and not fromlist)


def _get_ready() -> None:
    """tf.layers and its like are Keras 2's, and which Keras it is is decided while TensorFlow is imported."""
    if wanted():
        keras_two.choose("TensorFlow 1's layers are Keras 2's")
        os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")


def _no_contrib(module: ModuleType) -> None:
    raise ModuleNotFoundError(_GONE["contrib"], name=module.__name__)


def _say_what_is_gone(module: ModuleType) -> None:
    _when_missing(module, lambda name: _raise(AttributeError("module 'tensorflow' has no attribute " + repr(name))))


def _fill(one: ModuleType) -> None:
    """What version 1 has not under compat.v1: from the real module, or refused with the way out."""
    real = sys.modules["tensorflow"]
    _when_missing(one, lambda name: getattr(real, name))


def _when_missing(module: ModuleType, last: Callable[[str], Any]) -> None:
    missing = vars(module).get("__getattr__")

    def __getattr__(name: str) -> Any:
        if missing is not None:
            try:
                return missing(name)
            except AttributeError:
                pass
        if name in _GONE:
            raise AttributeError(_GONE[name])
        return last(name)

    setattr(module, "__getattr__", __getattr__)


def _raise(error: Exception) -> None:
    raise error
