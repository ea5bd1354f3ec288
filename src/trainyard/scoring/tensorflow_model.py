"""TensorFlow's SavedModel, asked as TensorFlow Serving's REST is asked."""

from __future__ import annotations

import os
from typing import Any, Hashable, Sequence

from trainyard.scoring.model import Arrays, ModelScorer, Port
from trainyard.scoring.scorer import CannotLoad, Refused

_DEFAULT = "serving_default"


class SavedModel(ModelScorer):
    def load(self) -> None:
        path = self.assignment.model_path or ""
        if not any(os.path.isfile(os.path.join(path, name)) for name in ("saved_model.pb", "saved_model.pbtxt")):
            raise CannotLoad(
                "This is no SavedModel: a folder with saved_model.pb and variables/ in it was expected, as "
                "tf.saved_model.save(model, folder) writes it."
            )
        os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
        import tensorflow

        self._tf = tensorflow
        try:
            self._model = tensorflow.saved_model.load(path)  # the functions below live as long as it does
        except Exception as error:  # whatever its files and its operations throw
            raise CannotLoad(f"TensorFlow {tensorflow.__version__} cannot read the SavedModel: {error}") from error
        self._functions: dict[str, Any] = dict(self._model.signatures)
        if not self._functions:
            raise CannotLoad(
                "This SavedModel has no signature to call. Save it with tf.saved_model.save(model, folder, "
                "signatures=…), or with model.export(folder)."
            )
        self._ports = {name: _ports(function) for name, function in self._functions.items()}
        self._default = _DEFAULT if _DEFAULT in self._functions else sorted(self._functions)[0]
        self._warm()

    def default_call(self, body: dict[str, Any]) -> Hashable:
        wanted = body.get("signature_name") or self._default
        if not isinstance(wanted, str) or wanted not in self._functions:
            known = ", ".join(sorted(self._functions))
            raise Refused(400, f"The model has no signature {wanted!r} (it has: {known}).")
        return wanted

    def ports(self, call: Hashable) -> Sequence[Port]:
        return self._ports[str(call)]

    def call(self, arrays: Arrays, call: Hashable) -> Arrays:
        constant = self._tf.constant
        outputs = self._functions[str(call)](**{name: constant(array) for name, array in arrays.items()})
        return {name: output.numpy() for name, output in sorted(outputs.items())}

    def signatures(self) -> dict[str, Any]:
        return {name: _told(function) for name, function in self._functions.items()}

    def _warm(self) -> None:
        """The first call of a function plans it, which no client should wait for."""
        import numpy

        ports = self._ports[self._default]
        if any(port.shape is None or port.dtype == "object" for port in ports):
            return
        ones = {port.name: numpy.ones([size or 1 for size in port.shape or ()], port.dtype) for port in ports}
        try:
            self.call(ones, self._default)
        except Exception as error:  # noqa: BLE001 - made-up values may not suit the model; requests will tell
            print(f"The warm-up call was not to the model's liking: {error}")


def _ports(function: Any) -> Sequence[Port]:
    _, named = function.structured_input_signature
    return [
        Port(name, _dtype(spec), None if spec.shape.rank is None else tuple(spec.shape.as_list()))
        for name, spec in sorted(named.items())
    ]


def _dtype(spec: Any) -> str:
    return "object" if spec.dtype.name == "string" else str(spec.dtype.as_numpy_dtype().dtype.name)


def _told(function: Any) -> dict[str, Any]:
    _, given = function.structured_input_signature
    outputs = function.structured_outputs
    return {
        "inputs": {name: _tensor_info(name, spec) for name, spec in sorted(given.items())},
        "outputs": {name: _tensor_info(name, spec) for name, spec in sorted(outputs.items())},
        "method_name": "tensorflow/serving/predict",
    }


def _tensor_info(name: str, spec: Any) -> dict[str, Any]:
    from tensorflow.core.framework import types_pb2

    unknown = spec.shape.rank is None
    sizes = [] if unknown else spec.shape.as_list()
    dims = [{"size": str(-1 if size is None else size), "name": ""} for size in sizes]  # 64-bit numbers are text
    dtype = types_pb2.DataType.Name(spec.dtype.as_datatype_enum)
    return {"dtype": dtype, "tensor_shape": {"dim": dims, "unknown_rank": unknown}, "name": name}
