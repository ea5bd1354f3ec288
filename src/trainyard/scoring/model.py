"""What all models without code have in common: the request forms, and many requests in one call.

    {"data": X}                          → the prediction, bare
    {"instances": [row, …]}              → {"predictions": [row, …]}     as TensorFlow Serving's REST, by rows
    {"inputs": X or {name: X, …}}        → {"outputs": X or {name: X, …}} likewise, by columns

X is a list of rows, or {name: list of rows} for a model of several inputs. A scorer may know more forms."""

from __future__ import annotations

import base64
import itertools
import json
import sys
import traceback
from dataclasses import dataclass, replace
from typing import Any, Callable, Dict, Hashable, Sequence

from trainyard.scoring.results import encode
from trainyard.scoring.scorer import Refused, Scorer
from trainyard.scoring.swagger import swagger_2, swagger_3
from trainyard.scoring.wire import Answer, Assignment, Request

Arrays = Dict[str, Any]  # numpy arrays by the name of the input or output

_TYPES_OF_TEXT = ("", "application/json", "application/x-www-form-urlencoded", "text/plain", "text/json")


@dataclass(frozen=True)
class Port:
    """An input of a model. A dimension that may have any size is None; a shape that may be any is None too."""

    name: str
    dtype: str  # numpy's name; "object" for text and bytes
    shape: Sequence[int | None] | None = None

    @property
    def takes_rows(self) -> bool:
        """Whether requests can be put together along the first axis."""
        return self.shape is None or (len(self.shape) > 0 and self.shape[0] is None)

    def __str__(self) -> str:
        sizes = ", ".join("?" if size is None else str(size) for size in self.shape or ())
        return f"{self.name!r} ({self.dtype}, {'any shape' if self.shape is None else f'[{sizes}]'})"


@dataclass
class Asked:
    """A request, read. Those with the same `call` may share one call of the model."""

    arrays: Arrays
    call: Hashable
    reply: Callable[[Arrays], Any]


class _NotRowByRow(Exception):
    pass


class ModelScorer(Scorer):
    batches = True

    def __init__(self, assignment: Assignment) -> None:
        super().__init__(assignment)
        self._proven: set[Hashable] = set()  # ways to call the model that answer each row by itself
        self._refuted: set[Hashable] = set()
        self._particular: set[Hashable] = set()  # those that take no made-up values: different requests are the proof

    def ports(self, call: Hashable) -> Sequence[Port]:
        """The inputs of one way to call the model."""
        raise NotImplementedError

    def call(self, arrays: Arrays, call: Hashable) -> Arrays:
        raise NotImplementedError

    def default_call(self, body: dict[str, Any]) -> Hashable:
        """Which way to call the model is asked for."""
        del body
        return None

    def read(self, body: dict[str, Any]) -> Asked:
        return read_forms(body, self.default_call(body), self.ports)

    def check(self, arrays: Arrays, call: Hashable) -> None:
        """Refuse what the model would choke on, in words that its caller understands."""
        for port in self.ports(call):
            if port.name in arrays:
                check_shape(arrays[port.name], port)

    def error(self, status: int, message: str, *, run_failed: bool = False) -> Answer:
        answer = super().error(status, message, run_failed=run_failed)
        return Answer(json.dumps({"error": message, "message": message}).encode(), status, answer.headers)

    def score(self, request: Request) -> Answer:
        asked = self._asked(request)
        return _answer(asked, self.call(asked.arrays, asked.call))

    def score_many(self, requests: list[Request]) -> list[Answer]:
        answers: list[Answer | None] = [None] * len(requests)
        groups: dict[Hashable, list[tuple[int, Asked]]] = {}
        for at, request in enumerate(requests):
            read = self._asked_or_answer(request)
            if isinstance(read, Answer):
                answers[at] = read
            else:
                groups.setdefault(_alike(read), []).append((at, read))
        for group in groups.values():
            for (at, _), answer in zip(group, self._together([asked for _, asked in group])):
                answers[at] = answer
        return [answer for answer in answers if answer is not None]

    def joins(self, asked: Asked) -> bool:
        """Whether requests such as this one can be put together along their first axis."""
        rows = {array.shape[:1] for array in asked.arrays.values()}
        return len(rows) == 1 and rows != {()} and all(port.takes_rows for port in self.ports(asked.call))

    def _together(self, group: list[Asked]) -> list[Answer]:
        call = group[0].call
        if len(group) > 1 and call not in self._refuted and self.joins(group[0]):
            try:
                if call in self._proven or self._may_share(group):
                    outputs = self._one_call(group)
                    return [_answer(asked, output) for asked, output in zip(group, outputs)]
            except _NotRowByRow as error:
                self._refuted.add(call)
                print(f"{error} Its requests are no longer put together.", file=sys.stderr)
            except Exception:  # noqa: BLE001 - one of them may be to blame: each gets a call, and a fate, of its own
                traceback.print_exc()
        return [self._alone(asked) for asked in group]

    def _one_call(self, group: list[Asked]) -> list[Arrays]:
        """The outputs for each of them."""
        import numpy

        names = list(group[0].arrays)
        rows = [len(asked.arrays[names[0]]) for asked in group]
        joined = {name: numpy.concatenate([asked.arrays[name] for asked in group]) for name in names}
        outputs = self.call(joined, group[0].call)
        if any(numpy.shape(output)[:1] != (sum(rows),) for output in outputs.values()):
            raise _NotRowByRow("The model gives no row for each row it gets.")
        ends = list(itertools.accumulate(rows))
        return [{name: output[end - count : end] for name, output in outputs.items()} for count, end in zip(rows, ends)]

    def _may_share(self, group: list[Asked]) -> bool:
        """That a first axis is free does not make its elements independent rows: it may be a sequence. So at first two
        different requests, or one and a variation of it, are scored by themselves too, and must be answered alike."""
        first = group[0]
        other = next((asked for asked in group if not _agree(first.arrays, asked.arrays)), None)
        if other is None and first.call in self._particular:
            return False
        pair = [first, other or replace(first, arrays=_varied(first.arrays))]
        try:
            outputs = self._one_call(pair)
        except _NotRowByRow:
            raise
        except Exception:
            if other is not None:
                raise
            self._particular.add(first.call)
            return False
        for asked, output in zip(pair, outputs):
            if not _agree(self.call(asked.arrays, asked.call), output):
                raise _NotRowByRow("The model answers a request differently when it gets others along with it.")
        if not _agree(first.arrays, pair[1].arrays):
            self._proven.add(first.call)
        return True

    def _alone(self, asked: Asked) -> Answer:
        try:
            return _answer(asked, self.call(asked.arrays, asked.call))
        except Exception as error:  # noqa: BLE001 - a model may raise anything; the other requests are answered
            traceback.print_exc(file=sys.stderr)
            return self.error(500, f"{type(error).__name__}: {error}", run_failed=True)

    def _asked_or_answer(self, request: Request) -> Asked | Answer:
        try:
            return self._asked(request)
        except Refused as refused:
            return self.error(refused.status, refused.message)

    def _asked(self, request: Request) -> Asked:
        asked = self.read(_object(request))
        self.check(asked.arrays, asked.call)
        return asked

    def swagger(self) -> dict[str, Any]:
        ports = self.ports(self.default_call({}))
        rows = {"type": "array", "items": _schema(ports[0])} if len(ports) == 1 else _by_name(ports)
        given = {"type": "object", "properties": {"data": rows}, "required": ["data"]}
        name = self.assignment.service
        return {"2": swagger_2(name, given, {}), "3": swagger_3(name, given, {})}


def read_forms(body: dict[str, Any], call: Hashable, ports_of: Callable[[Hashable], Sequence[Port]]) -> Asked:
    ports = ports_of(call)
    if "instances" in body:
        return Asked(_rows(body["instances"], ports), call, _predictions)
    if "inputs" in body:
        return Asked(_columns(body["inputs"], ports, "inputs"), call, _outputs)
    if "data" in body:
        return Asked(_columns(body["data"], ports, "data"), call, _bare)
    raise Refused(
        400,
        'The request needs one of "data", "instances" or "inputs". The model\'s inputs: '
        f"{', '.join(str(port) for port in ports)}.",
    )


def to_array(value: Any, port: Port) -> Any:
    import numpy

    try:
        if port.dtype == "object":
            return numpy.asarray(_decoded(value), dtype=object)
        if port.dtype[0] in "iu":
            found = numpy.asarray(value)
            if found.dtype.kind == "f" and not (found == numpy.floor(found)).all():
                raise ValueError(f"it has fractions, and the input takes {port.dtype}")
            return found.astype(port.dtype)
        return numpy.asarray(value, dtype=port.dtype)
    except (ValueError, TypeError, OverflowError) as error:
        raise Refused(400, f"The input {port} does not take what was sent: {error}") from None


def check_shape(array: Any, port: Port) -> None:
    if port.shape is None:
        return
    fits = len(array.shape) == len(port.shape) and all(
        want is None or want == have for want, have in zip(port.shape, array.shape)
    )
    if not fits:
        raise Refused(400, f"The input {port} does not take the shape {list(array.shape)}.")


def encoded(value: Any) -> Any:
    """Text of a model as text; bytes that are none as TensorFlow Serving writes them."""
    if isinstance(value, bytes):
        try:
            return value.decode("utf-8")
        except UnicodeDecodeError:
            return {"b64": base64.b64encode(value).decode("ascii")}
    if isinstance(value, list):
        return [encoded(item) for item in value]
    return value


def listed(array: Any) -> Any:
    """Nested lists; text where the array holds objects."""
    values = array.tolist() if hasattr(array, "tolist") else array
    kind = getattr(getattr(array, "dtype", None), "kind", "O")
    return encoded(values) if kind in "OS" else values


def _rows(instances: Any, ports: Sequence[Port]) -> Arrays:
    if not isinstance(instances, list) or not instances:
        raise Refused(400, '"instances" must be a list with at least one row.')
    if all(isinstance(row, dict) and set(row) != {"b64"} for row in instances):
        names = set(instances[0])
        _check_names(names, ports)
        if any(set(row) != names for row in instances):
            raise Refused(400, "Every row of instances must have the same names.")
        return {
            port.name: to_array([row[port.name] for row in instances], port) for port in ports if port.name in names
        }
    if len(ports) != 1:
        raise Refused(400, f"The model has several inputs: write each row as {{name: value}} of {_names(ports)}.")
    return {ports[0].name: to_array(instances, ports[0])}


def _columns(given: Any, ports: Sequence[Port], key: str) -> Arrays:
    if isinstance(given, dict) and set(given) != {"b64"}:
        _check_names(set(given), ports)
        return {port.name: to_array(given[port.name], port) for port in ports if port.name in given}
    if len(ports) != 1:
        raise Refused(400, f'The model has several inputs: write "{key}" as {{name: value}} of {_names(ports)}.')
    return {ports[0].name: to_array(given, ports[0])}


def _check_names(given: set[str], ports: Sequence[Port]) -> None:
    known = {port.name for port in ports}
    if given != known:
        wrong = ", ".join(repr(name) for name in sorted(given ^ known))
        raise Refused(400, f"The request's inputs do not match the model's, which are {_names(ports)}; see {wrong}.")


def _names(ports: Sequence[Port]) -> str:
    return ", ".join(str(port) for port in ports)


def _decoded(value: Any) -> Any:
    if isinstance(value, list):
        return [_decoded(item) for item in value]
    if isinstance(value, str):
        return value
    if isinstance(value, dict) and set(value) == {"b64"} and isinstance(value["b64"], str):
        return base64.b64decode("".join(value["b64"].split()), validate=True)  # some encoders break lines
    raise TypeError(f'{json.dumps(value)} is neither text nor {{"b64": …}}')


def _predictions(outputs: Arrays) -> Any:
    columns = {name: listed(output) for name, output in outputs.items()}
    if len(columns) == 1:
        return {"predictions": next(iter(columns.values()))}
    return {"predictions": [dict(zip(columns, row)) for row in zip(*columns.values())]}


def _outputs(outputs: Arrays) -> Any:
    return {"outputs": _bare(outputs)}


def _bare(outputs: Arrays) -> Any:
    columns = {name: listed(output) for name, output in outputs.items()}
    return next(iter(columns.values())) if len(columns) == 1 else columns


def _alike(asked: Asked) -> Hashable:
    """Requests can share a call when they differ in the number of their rows alone."""
    shapes = tuple((name, array.shape[1:], str(array.dtype)) for name, array in asked.arrays.items())
    return asked.call, shapes, len({array.shape[:1] for array in asked.arrays.values()}) == 1


def _agree(one: Arrays, other: Arrays) -> bool:
    """But for what the order of a sum changes."""
    import numpy

    for name, array in one.items():
        here, there = numpy.asarray(array), numpy.asarray(other[name])
        if here.shape != there.shape:
            return False
        if here.dtype.kind not in "fc":
            if not numpy.array_equal(here, there):
                return False
        elif not numpy.allclose(here, there, rtol=1e-2, atol=1e-4 * _largest(here), equal_nan=True):
            return False
    return True


def _varied(arrays: Arrays) -> Arrays:
    """Other values that are as good: those of the same request in another order, else other numbers."""
    import numpy

    moved = {name: numpy.roll(array, 1) for name, array in arrays.items()}
    if not _agree(arrays, moved):
        return moved
    return {name: array * 0.5 + 0.25 if array.dtype.kind == "f" else array for name, array in arrays.items()}


def _largest(array: Any) -> float:
    import numpy

    finite = numpy.abs(array[numpy.isfinite(array)])
    return float(finite.max()) if finite.size else 0.0


def _answer(asked: Asked, outputs: Arrays) -> Answer:
    return Answer(encode(asked.reply(outputs)))


def _object(request: Request) -> dict[str, Any]:
    if request.method != "POST":
        raise Refused(405, "Send the data of a request as JSON, with POST.")
    mimetype = request.header("content-type").partition(";")[0].strip().lower()
    if mimetype not in _TYPES_OF_TEXT and not mimetype.endswith("+json"):
        raise Refused(415, f"Expects Content-Type to be application/json, not {mimetype}")
    try:
        body = json.loads(request.body)
    except (ValueError, RecursionError) as error:
        raise Refused(400, f"POST body could not be decoded as JSON: {error}") from None
    if not isinstance(body, dict):
        raise Refused(400, 'POST body should be a JSON dictionary, such as {"data": [[…], […]]}.')
    return body


def _schema(port: Port) -> dict[str, Any]:
    kind = {"i": "integer", "u": "integer", "b": "boolean", "o": "string"}.get(port.dtype[0], "number")
    schema: dict[str, Any] = {"type": kind}
    for _ in range(len(port.shape) - 1 if port.shape else 0):
        schema = {"type": "array", "items": schema}
    return schema


def _by_name(ports: Sequence[Port]) -> dict[str, Any]:
    return {"type": "object", "properties": {port.name: {"type": "array", "items": _schema(port)} for port in ports}}
