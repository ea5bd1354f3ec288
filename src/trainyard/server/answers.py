"""Errors to HTTP: one table, one shape: {"error": {code, message, details}}."""

from __future__ import annotations

import errno
import logging

from fastapi.exceptions import RequestValidationError
from sqlalchemy.exc import DataError, OperationalError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from trainyard.contract.errors import (
    AttemptOver,
    BackendRefused,
    Conflict,
    DataAway,
    DataRefused,
    DigestMismatch,
    DiskFull,
    EnvironmentRefused,
    InvalidRequest,
    NotAllowed,
    NotAuthenticated,
    NotFound,
    ServiceUnavailable,
    SnapshotRefused,
    TrainyardError,
    VersionMismatch,
)

log = logging.getLogger("trainyard.http")

_TOO_LONG_FOR_AN_INDEX = "54000"  # PostgreSQL's program_limit_exceeded

# The nearest ancestor in this table decides.
STATUS: dict[type[TrainyardError], int] = {
    TrainyardError: 500,
    InvalidRequest: 400,
    SnapshotRefused: 400,
    EnvironmentRefused: 400,
    DigestMismatch: 400,
    NotAuthenticated: 401,
    AttemptOver: 401,  # its token died with it
    NotAllowed: 403,
    NotFound: 404,
    Conflict: 409,
    VersionMismatch: 426,
    BackendRefused: 502,
    DataRefused: 400,
    DataAway: 502,
    ServiceUnavailable: 503,
    DiskFull: 507,
}


def status_of(error: TrainyardError) -> int:
    return next(STATUS[kind] for kind in type(error).__mro__ if kind in STATUS)


async def on_own_error(_request: Request, error: Exception) -> Response:
    assert isinstance(error, TrainyardError)
    return _answer(error)


async def on_bad_request(_request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    where = "; ".join(f"{'.'.join(map(str, item['loc']))}: {item['msg']}" for item in error.errors()[:5])
    return _answer(InvalidRequest(f"The request does not fit: {where}. See /openapi.json for what would."))


async def on_no_such_route(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    what = f"{request.method} {request.url.path}: {error.detail}. See /openapi.json for what there is."
    return JSONResponse({"error": NotFound(what).to_json()}, error.status_code)


async def on_disk_trouble(request: Request, error: Exception) -> Response:
    """A full disk is the user's to mend and says so; any other trouble is ours and goes to the log."""
    full = isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)
    if full or "disk is full" in str(error) or "disk I/O error" in str(error):
        return _answer(DiskFull(request.app.state.context.settings.home))
    if getattr(getattr(error, "orig", None), "sqlstate", None) == _TOO_LONG_FOR_AN_INDEX:
        return await on_what_cannot_be_kept(request, error)
    return await on_anything(request, error)


async def on_what_cannot_be_kept(request: Request, error: Exception) -> Response:
    """PostgreSQL refuses what is too large for its column or holds a NUL; a driver, what is beyond 64 bits or no text
    that UTF-8 can write (half of a surrogate pair)."""
    log.warning("%s %s: %s", request.method, request.url.path, type(error).__name__)
    return _answer(
        InvalidRequest(
            "The request has a number or a text that is too large to be kept, or a NUL, half a character or other "
            "bytes that are no text (UTF-8) in it. Shorten or correct it."
        )
    )


async def on_anything(request: Request, error: Exception) -> Response:
    log.error("%s %s failed", request.method, request.url.path, exc_info=error)
    return _answer(TrainyardError(f"The service failed at this ({type(error).__name__}). Its log has the details."))


HANDLERS = {
    TrainyardError: on_own_error,
    RequestValidationError: on_bad_request,
    HTTPException: on_no_such_route,
    OperationalError: on_disk_trouble,
    DataError: on_what_cannot_be_kept,
    OverflowError: on_what_cannot_be_kept,
    UnicodeEncodeError: on_what_cannot_be_kept,
    OSError: on_disk_trouble,
    Exception: on_anything,
}


def _answer(error: TrainyardError) -> Response:
    return JSONResponse({"error": error.to_json()}, status_of(error))
