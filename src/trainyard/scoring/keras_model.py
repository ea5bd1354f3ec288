"""Keras files: .keras, and the older .h5."""

from __future__ import annotations

import os
from typing import Any, Hashable, Sequence

from trainyard.scoring.model import Arrays, ModelScorer, Port
from trainyard.scoring.scorer import CannotLoad


class Keras(ModelScorer):
    def load(self) -> None:
        path = self.assignment.model_path or ""
        if not os.path.isfile(path):
            raise CannotLoad("One .keras or .h5 file was expected, as model.save('model.keras') writes it.")
        os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
        self._model = _loaded(path)
        if not getattr(self._model, "inputs", None):
            raise CannotLoad(
                "The model was saved before it knew its inputs: call it once, or give it an Input, then save."
            )
        self._ports = [_port(given) for given in self._model.inputs]
        self._outputs = [_name(output, f"output_{at}") for at, output in enumerate(self._model.outputs)]
        self._warm()

    def ports(self, call: Hashable) -> Sequence[Port]:
        del call
        return self._ports

    def call(self, arrays: Arrays, call: Hashable) -> Arrays:
        del call
        given = [arrays[port.name] for port in self._ports]
        result = self._model(given[0] if len(given) == 1 else given, training=False)
        if isinstance(result, dict):
            return {str(name): _array(value) for name, value in result.items()}
        results = result if isinstance(result, (list, tuple)) else [result]
        return {name: _array(value) for name, value in zip(self._outputs, results)}

    def _warm(self) -> None:
        import numpy

        shapes = [(port, [size or 1 for size in port.shape or ()]) for port in self._ports]
        self.call({port.name: numpy.ones(shape, port.dtype) for port, shape in shapes if port.dtype != "object"}, None)


def _loaded(path: str) -> Any:
    """By Keras itself; files that only Keras 2 reads, by tf-keras where it is installed."""
    import keras

    try:
        return keras.models.load_model(path, compile=False)
    except (TypeError, ValueError) as error:
        try:
            import tf_keras
        except ImportError:
            raise CannotLoad(f"Keras {keras.__version__} cannot read the model: {error}") from error
        return tf_keras.models.load_model(path, compile=False)


def _port(given: Any) -> Port:
    dtype = given.dtype if isinstance(given.dtype, str) else given.dtype.name
    return Port(_name(given, "input"), "object" if dtype == "string" else dtype, tuple(given.shape))


def _name(tensor: Any, otherwise: str) -> str:
    return str(getattr(tensor, "name", None) or otherwise).partition(":")[0]


def _array(value: Any) -> Any:
    if hasattr(value, "detach"):
        return value.detach().cpu().numpy()
    return value.numpy() if hasattr(value, "numpy") else value
