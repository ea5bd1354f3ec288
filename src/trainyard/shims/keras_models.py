"""What early releases of Keras 2 had and its last has not: `predict_classes`, `set_session` (tf_keras has it where no
script looks for it), and accuracy by its old name. Until 2.3 it was acc in a model's logs, whatever the script called
it; a ModelCheckpoint that watches val_acc would keep no model."""

from __future__ import annotations

import sys

from trainyard.shims import program
from trainyard.shims.hooks import after_import
from trainyard.shims.report import did
from trainyard.shims.signs import OLD_ACCURACY

TYPE_CHECKING = False  # as typing's own, which costs more to import than all of this
if TYPE_CHECKING:
    from typing import Any

_ENGINES = ("tf_keras.src.engine.", "keras.src.engine.", "keras.engine.")
_BACKENDS = ("tf_keras.backend", "tf_keras.api._v2.keras.backend", "keras.backend", "keras.api._v2.keras.backend")
_OF_SESSIONS = ("get_session", "set_session")


def install() -> None:
    for engine in _ENGINES:
        after_import(engine + "training", _accuracy)
        after_import(engine + "sequential", _classes)
    for backend in _BACKENDS:
        after_import(backend, _sessions)


def _accuracy(module: Any) -> None:
    import functools

    original = module.Model.compile

    @functools.wraps(original)
    def compile(
        self: Any, optimizer: Any = "rmsprop", loss: Any = None, metrics: Any = None, *more: Any, **given: Any
    ) -> Any:
        if isinstance(metrics, (list, tuple)) and "accuracy" in metrics and _reads_acc():
            metrics = ["acc" if it == "accuracy" else it for it in metrics]
            did("keras", "the accuracy is called acc in what the model logs, as it was before Keras 2.3.")
        return original(self, optimizer, loss, metrics, *more, **given)

    module.Model.compile = compile


def _reads_acc() -> bool:
    return any(sign.note == OLD_ACCURACY for sign in program.signs())


def _classes(module: Any) -> None:
    if not hasattr(module.Sequential, "predict_classes"):
        module.Sequential.predict_classes = _predict_classes


def _predict_classes(self: Any, *arguments: Any, **given: Any) -> Any:
    did("keras", "predict_classes() is taken as the most likely class of what predict() gives.")
    found = self.predict(*arguments, **given)
    return found.argmax(axis=-1) if found.shape[-1] > 1 else (found > 0.5).astype("int32")


def _sessions(module: Any) -> None:
    """What scripts took from keras.backend, and from keras.backend.tensorflow_backend."""
    real = _backend(module.__name__.partition(".")[0])
    for name in _OF_SESSIONS:
        if not hasattr(module, name) and hasattr(real, name):
            setattr(module, name, getattr(real, name))
    if hasattr(module, "set_session"):
        sys.modules[module.__name__ + ".tensorflow_backend"] = module.tensorflow_backend = real


def _backend(keras: str) -> Any:
    import importlib

    try:
        return importlib.import_module(keras + ".src.backend")
    except ImportError:  # Keras 2.12
        return importlib.import_module(keras + ".backend")
