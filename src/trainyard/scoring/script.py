"""A scoring script: its init() once, its run() for each request."""

from __future__ import annotations

import importlib.util
import inspect
import json
import os
import sys
from types import ModuleType
from typing import Any, Callable
from urllib.parse import parse_qs

from trainyard.scoring import swagger
from trainyard.scoring.messages import RAW, AMLRequest, answer_from, is_json
from trainyard.scoring.results import encode
from trainyard.scoring.scorer import CannotLoad, Refused, Scorer
from trainyard.scoring.wire import Answer, Request

_JSON_HEADERS = (("content-type", "application/json"),)


class Script(Scorer):
    def load(self) -> None:
        source, entry = self.assignment.source, self.assignment.entry_script
        if not source or not entry:
            raise CannotLoad("A service of a scoring script needs its folder and the script's name.")
        module = load_script(source, entry)
        self._run: Callable[..., Any] = module.run
        self._read = self._reader()
        module.init()

    def _reader(self) -> Callable[[Request], list[Any]]:
        """How a request becomes the arguments of run()."""
        parameters = list(inspect.signature(self._run).parameters.values())
        self._wants_headers = any(one.name == "request_headers" for one in parameters)
        named = [one for one in parameters if one.name != "request_headers"]
        if not named:
            raise CannotLoad("run() takes no argument for the request's data. Write it as def run(data).")
        schema = swagger.is_decorated(self._run)
        self.raw = _is_raw(self._run) or self._wants_headers
        if _is_raw(self._run):
            if schema:
                raise CannotLoad("run() cannot have both @rawhttp and @input_schema. Take one of them away.")
            return lambda request: [AMLRequest(request)]
        if schema:
            return lambda request: _by_name(request, named)
        return lambda request: [_text(request)]

    def score(self, request: Request) -> Answer:
        if request.method == "OPTIONS" and not _is_raw(self._run):
            return Answer(b"", 200)
        arguments = self._read(request)
        if self._wants_headers:
            headers = {name.title(): value for name, value in request.headers}
            result = self._run(*arguments, request_headers=headers)
        else:
            result = self._run(*arguments)
        ready = answer_from(result)
        if ready is not None:
            return ready
        return Answer(encode({} if result is None else result), 200, _JSON_HEADERS)

    def swagger(self) -> dict[str, Any]:
        return swagger.documents(self.assignment.service, self._run, os.path.join(self.assignment.source or "."))


def load_script(source: str, entry: str) -> ModuleType:
    path = os.path.join(source, entry)
    if not os.path.isfile(path):
        raise CannotLoad(f"There is no scoring script {entry!r} in the deployed source folder.")
    beside = os.path.dirname(path)
    if beside not in sys.path:
        sys.path.insert(1, beside)
    name = os.path.splitext(os.path.basename(entry))[0]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise CannotLoad(f"The scoring script {entry!r} is not a Python file: its name must end with .py.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # its classes can be found again, as for any imported module
    spec.loader.exec_module(module)
    for wanted in ("init", "run"):
        if not callable(getattr(module, wanted, None)):
            raise CannotLoad(f"The scoring script {entry!r} has no function {wanted}(). It needs init() and run(data).")
    return module


def _is_raw(run: Callable[..., Any]) -> bool:
    if getattr(run, RAW, False):
        return True
    # the decorator of azureml-inference-server-http, where the user's environment has it
    original = sys.modules.get("azureml_inference_server_http.api.aml_request")
    return bool(getattr(original, "_rawHttpRequested", False))


def _text(request: Request) -> str:
    if request.method == "GET":
        return json.dumps(_query(request))
    try:
        return request.body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Refused(400, f"Input cannot be decoded as UTF-8: {error}") from None


def _by_name(request: Request, parameters: list[inspect.Parameter]) -> list[Any]:
    """The arguments of a run() with @input_schema: the body's keys, or those of the query."""
    given = _query(request) if request.method == "GET" else _object(request)
    arguments = []
    for one in parameters:
        value = given.get(one.name, one.default)
        if value is inspect.Parameter.empty:
            raise Refused(400, f"A value is not provided for the {one.name!r} parameter.")
        arguments.append(value)
    return arguments


def _object(request: Request) -> dict[str, Any]:
    mimetype = request.header("content-type").partition(";")[0].strip().lower()
    if not is_json(mimetype):
        raise Refused(415, "Expects Content-Type to be application/json")
    if not request.body:
        raise Refused(400, "POST body is empty. Expecting a JSON dictionary.")
    try:
        body = json.loads(request.body)
    except (ValueError, RecursionError) as error:
        raise Refused(400, f"POST body could not be decoded as JSON: {error}") from None
    if not isinstance(body, dict):
        raise Refused(400, "POST body should be a JSON dictionary.")
    return body


def _query(request: Request) -> dict[str, Any]:
    """Values as JSON where they are JSON, else as text; a list for a name that is there several times."""
    found = parse_qs(request.query, keep_blank_values=True)
    read = {name: [_value(text) for text in texts] for name, texts in found.items()}
    return {name: values[0] if len(values) == 1 else values for name, values in read.items()}


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
