"""How MLflow's clients ask and are answered: JSON in its form, its error codes, its addresses of files."""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from fastapi.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from trainyard.contract.errors import (
    AlreadyExists,
    Conflict,
    InvalidRequest,
    NotAllowed,
    NotFound,
    ServiceUnavailable,
    TrainyardError,
)
from trainyard.contract.mlflow import PLUGIN, SCHEME, base_path
from trainyard.server.answers import status_of
from trainyard.server.context import Context, context_of, principal_of
from trainyard.server.identity.service import Principal

log = logging.getLogger("trainyard.mlflow")

# The nearest ancestor decides. Clients try again after 5xx and 429, so what will not get better is a 4xx.
_CODES: dict[type[TrainyardError], tuple[str, int | None]] = {
    TrainyardError: ("INTERNAL_ERROR", None),
    InvalidRequest: ("INVALID_PARAMETER_VALUE", 400),
    AlreadyExists: ("RESOURCE_ALREADY_EXISTS", 400),
    Conflict: ("INVALID_PARAMETER_VALUE", 400),
    NotFound: ("RESOURCE_DOES_NOT_EXIST", 404),
    NotAllowed: ("PERMISSION_DENIED", 403),
    ServiceUnavailable: ("TEMPORARILY_UNAVAILABLE", 503),
}
_MILLION = 1_000_000


@dataclass(frozen=True)
class Call:
    """One question of a client's, and what it may be answered with."""

    context: Context
    principal: Principal
    workspace_id: str
    flavour: str
    host: str
    said: Mapping[str, Any]

    def text(self, *names: str, default: str | None = None) -> str:
        """The first of these names that was given a text."""
        for name in names:
            if (value := self.said.get(name)) not in (None, ""):
                return str(value)
        if default is not None:
            return default
        raise InvalidRequest(f"Missing value for required parameter {names[0]!r}. Pass it.")

    def maybe(self, name: str) -> str | None:
        value = self.said.get(name)
        return None if value is None else str(value)

    def items(self, name: str) -> list[Any]:
        """A list; a query's single value is one too."""
        value = self.said.get(name)
        return value if isinstance(value, list) else [] if value is None else [value]

    def whole(self, name: str, default: int, most: int) -> int:
        try:
            value = int(self.said.get(name) or default)
        except (TypeError, ValueError) as error:
            raise InvalidRequest(f"{name} is a whole number, not {self.said.get(name)!r}.") from error
        if not 0 < value <= most:
            raise InvalidRequest(f"{name} is {value}; it goes from 1 to {most}.")
        return value

    def start(self) -> int:
        """Where a page begins: what the page before gave as its `next_page_token`."""
        token = self.text("page_token", default="0")
        if not token.isascii() or not token.isdigit() or len(token) > 18:
            raise InvalidRequest("This is no page_token. Pass the next_page_token of the page before, as it is.")
        return int(token)

    def address(self, folder: str) -> str:
        """Where a client finds a folder of files, such as `runs/ID`."""
        if self.flavour != PLUGIN:
            return f"mlflow-artifacts:/{folder}"
        return f"{SCHEME}://{self.host}{base_path(self.flavour, self.workspace_id)}/artifacts/{folder}"


Handler = Callable[[Call], Any]


def endpoint(handler: Handler) -> Callable[[Request], Any]:
    async def answer(request: Request) -> Response:
        try:
            call = await _call(request)
            found = await run_in_threadpool(handler, call)
        except TrainyardError as error:
            return refusal(error)
        return Response(json.dumps(plain(found or {})), media_type="application/json")

    return answer


def refusal(error: TrainyardError) -> Response:
    code, status = next(_CODES[kind] for kind in type(error).__mro__ if kind in _CODES)
    body = json.dumps({"error_code": code, "message": error.message})
    return Response(body, status or status_of(error), media_type="application/json")


def plain(value: Any) -> Any:
    """As protocol buffers write JSON: what is no finite number is text."""
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items() if item is not None}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value


def ms(time_ns: int | None) -> int | None:
    return None if time_ns is None else time_ns // _MILLION


def ns(time_ms: Any) -> int:
    try:
        return int(time_ms) * _MILLION
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidRequest(f"A timestamp is a whole number of milliseconds, not {time_ms!r}.") from error


def pairs(items: list[Any]) -> dict[str, str]:
    """[{key, value}, …] as a dict; the last of a name counts."""
    try:
        return {str(item["key"]): str(item.get("value", "")) for item in items}
    except (TypeError, KeyError, AttributeError) as error:
        raise InvalidRequest('Tags and parameters are sent as [{"key": …, "value": …}].') from error


def unpaired(items: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [{"key": name, "value": "" if value is None else value} for name, value in items.items()]


async def _call(request: Request) -> Call:
    context, principal = context_of(request), principal_of(request)
    workspace_id = request.path_params["workspace_id"]
    principal.require_workspace(workspace_id)
    said: dict[str, Any] = {}
    for name in request.query_params:
        values = request.query_params.getlist(name)
        said[name] = values if len(values) > 1 else values[0]
    body = await request.body()
    if body:
        try:
            given = json.loads(body)
        except ValueError as error:
            raise InvalidRequest("The body is no JSON. MLflow's REST API takes a JSON object.") from error
        if not isinstance(given, dict):
            raise InvalidRequest("MLflow's REST API takes a JSON object.")
        said.update(given)
    said.update({name: value for name, value in request.path_params.items() if name not in ("flavour", "workspace_id")})
    host = request.headers.get("host", "")
    return Call(context, principal, workspace_id, request.path_params["flavour"], host, said)
