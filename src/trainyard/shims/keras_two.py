"""Scripts of Keras 2: their `keras` and `tf.keras` are the package tf_keras, which is Keras 2 under its new name.
TensorFlow before 2.16 brings Keras 2 itself: then only what its last releases do differently is mended."""

from __future__ import annotations

import importlib
import os
import sys

from trainyard.shims import keras_models, program
from trainyard.shims.hooks import after_import, alias, before_import, provide
from trainyard.shims.report import did

TYPE_CHECKING = False  # as typing's own, which costs more to import than all of this
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

_SWITCH = "TF_USE_LEGACY_KERAS"
_ON = ("1", "true", "True")
_OPTIMIZERS = ("SGD", "RMSprop", "Adam", "Adagrad", "Adadelta", "Adamax", "Nadam", "Ftrl")
# Modules of early Keras 2 that its last release keeps elsewhere.
_MOVED = {
    "keras.utils.np_utils": "tf_keras.src.utils.np_utils",
    "keras.engine": "tf_keras.src.engine",
    "keras.layers.advanced_activations": "tf_keras.layers",
    "keras.layers.convolutional": "tf_keras.layers",
    "keras.layers.core": "tf_keras.layers",
    "keras.layers.embeddings": "tf_keras.layers",
    "keras.layers.merge": "tf_keras.layers",
    "keras.layers.normalization": "tf_keras.layers",
    "keras.layers.pooling": "tf_keras.layers",
    "keras.layers.recurrent": "tf_keras.layers",
    "keras.layers.wrappers": "tf_keras.layers",
}


def install() -> None:
    for framework in ("tensorflow", "keras"):
        before_import(framework, _look)
    alias("keras", _instead)
    alias("tf_keras", _instead)
    after_import("tf_keras.api._v2.keras", _say_version)
    for root in ("tf_keras", "keras"):
        for name in _OPTIMIZERS:
            after_import(root + ".src.optimizers." + name.lower(), _take_old_arguments)
            after_import(root + ".optimizers." + name.lower(), _take_old_arguments)  # where Keras 2.12 has them
    keras_models.install()
    for old in _MOVED:
        provide(old, _fill_moved)


def choose(why: str) -> bool:
    """Keras 2 from here on, if it is installed. Too late once either Keras has been imported."""
    if os.environ.get(_SWITCH) in _ON:
        return True
    if _SWITCH in os.environ:
        return False  # somebody has decided
    if _is_keras_two():
        return True
    if not _is_there("tf_keras"):
        if _is_there("keras"):
            did("keras", why + ", and tf_keras, which has it, is not installed. Add tf-keras to the environment.")
        return False
    os.environ[_SWITCH] = "1"
    did("keras", why + ": keras and tf.keras are tf_keras, which is Keras 2.")
    return True


def _look() -> None:
    first = next((sign for sign in program.signs() if sign.shim == "keras"), None)
    if first is not None:
        choose("this is a script of Keras 2 (" + first.name + ")")


def _instead(name: str) -> str | None:
    """The module of tf_keras to import in the place of `name`."""
    if name == "tf_keras" or os.environ.get(_SWITCH) not in _ON or not _is_there("tf_keras"):
        return None
    plain = name[len("tf_") :] if name.startswith("tf_") else name
    for old, new in _MOVED.items():
        if plain == old or plain.startswith(old + "."):
            return new if new == "tf_keras.layers" else new + plain[len(old) :]
    there = sys.modules.get("keras")
    if name != plain or (there is not None and there is not sys.modules.get("tf_keras")):
        return None  # tf_keras itself, or Keras 3 was there before us
    return "tf_" + name


def _fill_moved(module: ModuleType) -> None:
    """A module of early Keras 2, for its last releases, which have the same names elsewhere."""
    if not _is_keras_two():
        raise ModuleNotFoundError("No module named {!r}".format(module.__name__), name=module.__name__)
    kept = importlib.import_module(_MOVED[module.__name__][len("tf_") :])
    module.__dict__.update((name, value) for name, value in vars(kept).items() if not name.startswith("__"))


def _say_version(module: ModuleType) -> None:
    """`tf.keras.__version__`, which this way to Keras 2 leads past."""
    if not hasattr(module, "__version__"):
        module.__dict__["__version__"] = sys.modules["tf_keras"].__dict__.get("__version__", "2")


def _take_old_arguments(module: ModuleType) -> None:
    """`lr=` is refused by Keras 3, and left out without an error by the last Keras 2: both would train with a rate that
    nobody asked for. `decay=` is a schedule now."""
    root = module.__name__.partition(".")[0]
    for name in _OPTIMIZERS:
        kind: Any = getattr(module, name, None)
        if isinstance(kind, type) and kind.__module__ == module.__name__:
            _wrap(kind, root)


def _wrap(kind: Any, root: str) -> None:
    import functools

    original = kind.__init__

    @functools.wraps(original)
    def __init__(self: Any, *arguments: Any, **given: Any) -> None:
        if "lr" in given or "decay" in given:
            given = _renamed(kind.__name__, arguments, given, root)
        original(self, *arguments, **given)

    kind.__init__ = __init__


def _renamed(kind: str, arguments: tuple[Any, ...], given: dict[str, Any], root: str) -> dict[str, Any]:
    given = dict(given)
    if "lr" in given:
        rate = given.pop("lr")
        if not arguments:
            given.setdefault("learning_rate", rate)
        did("keras", kind + "(lr=) is learning_rate= now, and is taken as that.")
    decay = given.pop("decay", None)
    if decay:
        rate = arguments[0] if arguments else given.get("learning_rate", 0.01 if kind in ("SGD",) else 0.001)
        schedules: Any = importlib.import_module(root + ".optimizers.schedules")
        if not hasattr(schedules, "InverseTimeDecay"):  # Keras 2.12
            schedules = importlib.import_module(root + ".optimizers.schedules.learning_rate_schedule")
        schedule = schedules.InverseTimeDecay(rate, decay_steps=1, decay_rate=decay)
        did("keras", kind + "(decay=) is a schedule now: the rate falls as it did, by 1 / (1 + decay * step).")
        if arguments:
            raise TypeError(kind + ": give learning_rate by name when decay is given.")
        given["learning_rate"] = schedule
    return given


def _is_keras_two() -> bool:
    """Whether the package keras is Keras 2 itself."""
    from importlib import metadata

    try:
        return metadata.version("keras").partition(".")[0] == "2"
    except metadata.PackageNotFoundError:
        return False


def _is_there(package: str) -> bool:
    import importlib.util

    return package in sys.modules or importlib.util.find_spec(package) is not None
