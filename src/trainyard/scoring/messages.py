"""The requests and responses that scoring scripts handle themselves (@rawhttp), to the extent that scripts use them:
they were Flask's in the original, so they answer to the same names."""

from __future__ import annotations

import io
import json
from email.parser import BytesParser
from email.policy import HTTP
from typing import Any, Callable, Dict, Iterable, Iterator, Mapping, TypeVar
from urllib.parse import parse_qsl

from trainyard.scoring.wire import Answer, Request

F = TypeVar("F", bound=Callable[..., Any])
RAW = "__trainyard_raw_http__"


def rawhttp(func: F) -> F:
    """run() gets the request itself, an AMLRequest, and may give back an AMLResponse."""
    setattr(func, RAW, True)
    return func


class Headers:
    """Names without regard to case; a name may be there several times."""

    def __init__(self, items: Mapping[str, Any] | Iterable[tuple[str, Any]] = ()) -> None:
        pairs = items.items() if isinstance(items, Mapping) else items
        self._items: list[tuple[str, str]] = [(key, str(value)) for key, value in pairs]

    def get(self, name: str, default: Any = None) -> Any:
        return next((value for key, value in self._items if key.lower() == name.lower()), default)

    def getlist(self, name: str) -> list[str]:
        return [value for key, value in self._items if key.lower() == name.lower()]

    get_all = getlist

    def add(self, name: str, value: Any) -> None:
        self._items.append((name, str(value)))

    add_header = add

    def set(self, name: str, value: Any) -> None:
        self.remove(name)
        self.add(name, value)

    def remove(self, name: str) -> None:
        self._items = [(key, value) for key, value in self._items if key.lower() != name.lower()]

    def items(self) -> Iterator[tuple[str, str]]:
        return iter(self._items)

    def keys(self) -> list[str]:
        return [key for key, _ in self._items]

    def __getitem__(self, name: str) -> str:
        found = self.get(name)
        if found is None:
            raise KeyError(name)
        return str(found)

    __setitem__ = set
    __delitem__ = remove

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.get(name) is not None

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __repr__(self) -> str:
        return f"Headers({self._items!r})"


class Values(Dict[str, str]):
    """Query and form fields: the first value of each name, or all of them."""

    def __init__(self, pairs: Iterable[tuple[str, str]]) -> None:
        self._pairs = list(pairs)
        super().__init__(reversed(self._pairs))

    def getlist(self, name: str) -> list[str]:
        return [value for key, value in self._pairs if key == name]

    def get(self, name: str, default: Any = None, type: Callable[[str], Any] | None = None) -> Any:
        if name not in self:
            return default
        if type is None:
            return self[name]
        try:
            return type(self[name])
        except ValueError:
            return default


class UploadedFile:
    """A file of a multipart form; can be read like one."""

    def __init__(self, name: str, filename: str, content_type: str, data: bytes) -> None:
        self.name = name
        self.filename = filename
        self.content_type = self.mimetype = content_type
        self.stream = io.BytesIO(data)

    def save(self, target: Any) -> None:
        if hasattr(target, "write"):
            target.write(self.stream.getvalue())
            return
        with open(target, "wb") as file:
            file.write(self.stream.getvalue())

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


class AMLRequest:
    """What run() gets under @rawhttp."""

    def __init__(self, request: Request | None = None) -> None:
        self._request = request or Request(b"")
        self.method = self._request.method
        self.path = self._request.path
        self.query_string = self._request.query.encode()
        self.headers = Headers((name.title(), value) for name, value in self._request.headers)
        self.args = Values(parse_qsl(self._request.query, keep_blank_values=True))
        self._parsed: tuple[Values, dict[str, UploadedFile]] | None = None

    @property
    def data(self) -> bytes:
        return self._request.body

    def get_data(self, cache: bool = True, as_text: bool = False, parse_form_data: bool = False) -> Any:
        del cache, parse_form_data
        return self._request.body.decode("utf-8", "replace") if as_text else self._request.body

    @property
    def stream(self) -> io.BytesIO:
        return io.BytesIO(self._request.body)

    @property
    def content_type(self) -> str | None:
        found: str | None = self.headers.get("content-type")
        return found

    @property
    def mimetype(self) -> str:
        return (self.content_type or "").partition(";")[0].strip().lower()

    @property
    def content_length(self) -> int:
        return len(self._request.body)

    @property
    def content_encoding(self) -> str | None:
        found: str | None = self.headers.get("content-encoding")
        return found

    @property
    def is_json(self) -> bool:
        return is_json(self.mimetype)

    @property
    def json(self) -> Any:
        return self.get_json()

    def get_json(self, force: bool = False, silent: bool = False, cache: bool = True) -> Any:
        del cache
        if not (force or self.is_json):
            if silent:
                return None
            raise ValueError(f"The request's content type is {self.content_type!r}, not application/json.")
        try:
            return json.loads(self._request.body)
        except ValueError:
            if silent:
                return None
            raise

    @property
    def full_path(self) -> str:
        return f"{self.path}?{self._request.query}"

    @property
    def host(self) -> str:
        return str(self.headers.get("host", ""))

    @property
    def url(self) -> str:
        query = f"?{self._request.query}" if self._request.query else ""
        return f"http://{self.host}{self.path}{query}"

    def __repr__(self) -> str:
        return f"<Request {self.url!r} [{self.method}]>"

    @property
    def form(self) -> Values:
        return self._form()[0]

    @property
    def files(self) -> dict[str, UploadedFile]:
        return self._form()[1]

    @property
    def values(self) -> Values:
        return Values([*self.args.items(), *self.form.items()])

    def _form(self) -> tuple[Values, dict[str, UploadedFile]]:
        if self._parsed is None:
            if self.mimetype == "multipart/form-data":
                self._parsed = _multipart(self.content_type or "", self._request.body)
            elif self.mimetype == "application/x-www-form-urlencoded":
                text = self._request.body.decode("utf-8", "replace")
                self._parsed = Values(parse_qsl(text, keep_blank_values=True)), {}
            else:
                self._parsed = Values([]), {}
        return self._parsed


def is_json(mimetype: str) -> bool:
    return mimetype == "application/json" or (mimetype.startswith("application/") and mimetype.endswith("+json"))


def _multipart(content_type: str, body: bytes) -> tuple[Values, dict[str, UploadedFile]]:
    head = f"Content-Type: {content_type}\r\n\r\n".encode("latin-1")
    message = BytesParser(policy=HTTP).parsebytes(head + body)
    fields: list[tuple[str, str]] = []
    files: dict[str, UploadedFile] = {}
    for part in message.iter_parts():
        name = str(part.get_param("name", header="content-disposition") or "")
        filename = part.get_filename()
        data = part.get_payload(decode=True)
        assert isinstance(data, bytes)
        if filename is None:
            fields.append((name, data.decode(part.get_content_charset() or "utf-8", "replace")))
        else:
            files.setdefault(name, UploadedFile(name, filename, part.get_content_type(), data))
    return Values(fields), files


class AMLResponse:
    """An answer that run() makes itself: body, status and headers."""

    def __init__(
        self,
        message: Any,
        status_code: int = 200,
        response_headers: Mapping[str, str] | None = None,
        json_str: bool = False,
        run_function_failed: bool = False,
    ) -> None:
        given = Headers(response_headers or {})
        if message is None:
            message, json_str = {}, True
        self.status_code = int(status_code)
        self.set_data(json.dumps(message) if json_str else message)
        self.headers = Headers()
        if json_str or "content-type" not in given:
            self.headers.add("Content-Type", "application/json" if json_str else "text/html; charset=utf-8")
        self.headers.add("x-ms-run-function-failed", run_function_failed)
        for name, value in given.items():
            for part in value.split(","):  # the original's way to say one header several times
                if not (json_str and name.lower() == "content-type"):
                    self.headers.add(name, part.strip())

    def set_data(self, data: Any) -> None:
        if isinstance(data, str):
            self._data = data.encode()
        elif isinstance(data, (bytes, bytearray, memoryview)):
            self._data = bytes(data)
        else:
            raise TypeError(
                f"An AMLResponse is made of text or bytes, not of {type(data).__name__}. Give json_str=True to have it "
                "written as JSON."
            )

    def get_data(self, as_text: bool = False) -> Any:
        return self._data.decode() if as_text else self._data

    data = property(get_data, set_data)

    @property
    def status(self) -> str:
        return str(self.status_code)

    @property
    def content_type(self) -> str | None:
        found: str | None = self.headers.get("content-type")
        return found

    @content_type.setter
    def content_type(self, value: str) -> None:
        self.headers.set("Content-Type", value)

    @property
    def mimetype(self) -> str:
        return (self.content_type or "").partition(";")[0].strip()

    @property
    def json(self) -> Any:
        return json.loads(self._data)

    def get_json(self) -> Any:
        return self.json


_OURS_TO_SAY = ("content-length", "connection", "transfer-encoding", "date", "keep-alive")


def answer_from(response: Any) -> Answer | None:
    """The answer in an AMLResponse, or in whatever else looks like Flask's response; None for anything else."""
    if not (hasattr(response, "status_code") and hasattr(response, "get_data") and hasattr(response, "headers")):
        return None
    status = int(response.status_code)
    headers = [(str(key).lower(), str(value)) for key, value in response.headers.items()]
    kept = [(key, value) for key, value in headers if key not in _OURS_TO_SAY]
    if status >= 500:
        kept = [(key, value) for key, value in kept if key != "x-ms-run-function-failed"]
        kept.append(("x-ms-run-function-failed", "True"))
    return Answer(response.get_data(), status, tuple(kept))
