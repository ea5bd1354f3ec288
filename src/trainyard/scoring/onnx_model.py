"""ONNX models, asked in the tensors of ONNX Runtime's server or in plain JSON."""

from __future__ import annotations

import base64
import os
from typing import Any, Hashable, Sequence

from trainyard.scoring.model import Arrays, Asked, ModelScorer, Port, read_forms
from trainyard.scoring.scorer import CannotLoad, Refused

# ONNX's number of an element type, what onnxruntime calls it, what numpy does
_TYPES = (
    (1, "float", "float32"),
    (2, "uint8", "uint8"),
    (3, "int8", "int8"),
    (4, "uint16", "uint16"),
    (5, "int16", "int16"),
    (6, "int32", "int32"),
    (7, "int64", "int64"),
    (8, "string", "object"),
    (9, "bool", "bool"),
    (10, "float16", "float16"),
    (11, "double", "float64"),
    (12, "uint32", "uint32"),
    (13, "uint64", "uint64"),
)
_NUMPY = {number: dtype for number, _, dtype in _TYPES}
_BY_RUNTIME = {f"tensor({name})": dtype for _, name, dtype in _TYPES}
_NUMBER = {dtype: number for number, _, dtype in _TYPES}
# where a tensor's values are when they are not raw, as protobuf's JSON spells it
_VALUES = ("floatData", "int32Data", "int64Data", "doubleData", "uint64Data", "stringData")


class Onnx(ModelScorer):
    def load(self) -> None:
        path = self.assignment.model_path or ""
        if not os.path.isfile(path):
            raise CannotLoad("This is no ONNX model: one .onnx file was expected.")
        import onnxruntime

        try:
            self._session = onnxruntime.InferenceSession(path, providers=onnxruntime.get_available_providers())
        except Exception as error:  # onnxruntime's errors have no root of their own
            raise CannotLoad(f"The model cannot be loaded by onnxruntime: {error}") from error
        self._ports = [_port(given) for given in self._session.get_inputs()]
        self._outputs = [given.name for given in self._session.get_outputs()]

    def ports(self, call: Hashable) -> Sequence[Port]:
        del call
        return self._ports

    def default_call(self, body: dict[str, Any]) -> Hashable:
        """The outputs that are asked for."""
        wanted = body.get("outputFilter", body.get("output_filter"))
        if not wanted:
            return tuple(self._outputs)
        unknown = [name for name in wanted if name not in self._outputs] if isinstance(wanted, list) else [wanted]
        if unknown:
            raise Refused(400, f"The model has no output {unknown[0]!r} (it has: {', '.join(self._outputs)}).")
        return tuple(wanted)

    def read(self, body: dict[str, Any]) -> Asked:
        call = self.default_call(body)
        given = body.get("inputs")
        if not (isinstance(given, dict) and given and all(_is_tensor(value) for value in given.values())):
            return read_forms(body, call, self.ports)
        known = {port.name: port for port in self._ports}
        if set(given) != set(known):
            raise Refused(400, f"The model's inputs are {', '.join(map(str, self._ports))}; got {', '.join(given)}.")
        arrays = {name: _from_tensor(value, known[name]) for name, value in given.items()}
        return Asked(arrays, call, _tensors)

    def call(self, arrays: Arrays, call: Hashable) -> Arrays:
        wanted = list(call) if isinstance(call, tuple) else self._outputs
        return dict(zip(wanted, self._session.run(wanted, arrays)))


def _port(given: Any) -> Port:
    dtype = _BY_RUNTIME.get(given.type)
    if dtype is None:
        raise CannotLoad(f"The model's input {given.name!r} is a {given.type}; only tensors can be sent as JSON.")
    shape = None if given.shape is None else tuple(size if isinstance(size, int) else None for size in given.shape)
    return Port(given.name, dtype, shape)


def _is_tensor(value: Any) -> bool:
    return isinstance(value, dict) and "dims" in value and ("dataType" in value or "data_type" in value)


def _from_tensor(tensor: dict[str, Any], port: Port) -> Any:
    import numpy

    number = tensor.get("dataType", tensor.get("data_type"))
    dtype = _NUMPY.get(number) if isinstance(number, int) else None
    if dtype is None:
        raise Refused(400, f"The input {port} has the dataType {number!r}, which is none of ONNX's element types.")
    try:
        dims = [int(size) for size in tensor["dims"]]
        raw = tensor.get("rawData", tensor.get("raw_data"))
        if raw is not None:
            array = numpy.frombuffer(base64.b64decode(raw, validate=True), numpy.dtype(dtype).newbyteorder("<"))
        else:
            array = _values(tensor, dtype)
        array = array.reshape(dims)
    except (ValueError, TypeError, KeyError) as error:
        raise Refused(400, f"The tensor for the input {port} cannot be read: {error}") from None
    if dtype != port.dtype:
        raise Refused(400, f"The input {port} does not take tensors of {dtype} (dataType {number}).")
    return array


def _values(tensor: dict[str, Any], dtype: str) -> Any:
    import numpy

    for name in _VALUES:
        if name in tensor:
            values = tensor[name]
            if name == "stringData":
                values = [base64.b64decode(value).decode("utf-8") for value in values]
            return numpy.asarray(values, dtype=dtype)
    raise ValueError(f"it has no rawData, and none of {', '.join(_VALUES)}")


def _tensors(outputs: Arrays) -> Any:
    return {"outputs": {name: _to_tensor(output) for name, output in outputs.items()}}


def _to_tensor(output: Any) -> dict[str, Any]:
    import numpy

    array = numpy.asarray(output)
    dims = [str(size) for size in array.shape]  # 64-bit numbers are text in protobuf's JSON
    if array.dtype.kind in "OUS":
        texts = [base64.b64encode(_bytes(value)).decode("ascii") for value in array.reshape(-1)]
        return {"dims": dims, "dataType": _NUMBER["object"], "stringData": texts}
    number: int | None = _NUMBER.get(array.dtype.name)
    if number is None:
        raise TypeError(f"an output of {array.dtype.name} has no form as an ONNX tensor")
    raw = array.astype(array.dtype.newbyteorder("<")).tobytes()
    return {"dims": dims, "dataType": number, "rawData": base64.b64encode(raw).decode("ascii")}


def _bytes(value: Any) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode()
