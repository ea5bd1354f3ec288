"""What a service's front and its scoring processes say to each other over a Unix socket. JSON and bytes, nothing else.

A frame is the length of its JSON head, the length of its payload (both four bytes, big-endian), then the two. By kind:

    open    front → worker  {assignment}: what to load. The first frame there is
    ready   worker → front  {swagger, signatures, raw, batches, ms}: init() is over, requests may come
    failed  worker → front  {error}: init() is over, and how. The worker ends
    score   front → worker  {id, limit_ms, requests: [{method, path, query, headers, size}]}, payload: their bodies
    scored  worker → front  {id, answers: [{status, headers, size}], ms}, payload: likewise
"""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass
from typing import Any, BinaryIO, NamedTuple

_written = json.JSONEncoder(separators=(",", ":")).encode
LENGTHS = struct.Struct(">II")


class Request(NamedTuple):  # these two are made for each request: a NamedTuple is made in half the time
    body: bytes
    method: str = "POST"
    path: str = "/score"
    query: str = ""
    headers: tuple[tuple[str, str], ...] = ()  # names in lower case

    def header(self, name: str, otherwise: str = "") -> str:
        return next((value for key, value in self.headers if key == name), otherwise)


class Answer(NamedTuple):
    body: bytes
    status: int = 200
    headers: tuple[tuple[str, str], ...] = (("content-type", "application/json"),)


@dataclass(frozen=True)
class Assignment:
    """What a worker is told to load."""

    service: str
    version: str
    kind: str
    source: str | None = None
    entry_script: str | None = None
    model_path: str | None = None
    threads: int = 1


def pack(head: dict[str, Any], payload: bytes = b"") -> bytes:
    text = _written(head).encode()
    return LENGTHS.pack(len(text), len(payload)) + text + payload


def pack_requests(number: int, requests: list[Request], limit_ms: int) -> bytes:
    listed = [
        {"method": one.method, "path": one.path, "query": one.query, "headers": one.headers, "size": len(one.body)}
        for one in requests
    ]
    return pack(
        {"kind": "score", "id": number, "limit_ms": limit_ms, "requests": listed},
        b"".join([one.body for one in requests]),
    )


def unpack_requests(head: dict[str, Any], payload: memoryview) -> list[Request]:
    found, at = [], 0
    for one in head["requests"]:
        end = at + one["size"]
        headers = tuple([(key, value) for key, value in one["headers"]])
        found.append(Request(bytes(payload[at:end]), one["method"], one["path"], one["query"], headers))
        at = end
    return found


def pack_answers(number: int, answers: list[Answer], ms: float) -> bytes:
    listed = [{"status": one.status, "headers": one.headers, "size": len(one.body)} for one in answers]
    head = {"kind": "scored", "id": number, "answers": listed, "ms": round(ms, 3)}
    return pack(head, b"".join([one.body for one in answers]))


def unpack_answers(head: dict[str, Any], payload: memoryview) -> list[Answer]:
    found, at = [], 0
    for one in head["answers"]:
        end = at + one["size"]
        headers = tuple([(key, value) for key, value in one["headers"]])
        found.append(Answer(bytes(payload[at:end]), one["status"], headers))
        at = end
    return found


def receive(stream: BinaryIO) -> tuple[dict[str, Any], memoryview] | None:
    """The next frame, or None when the other side has gone."""
    try:
        lengths = stream.read(LENGTHS.size)
        if len(lengths) < LENGTHS.size:
            return None
        head_size, payload_size = LENGTHS.unpack(lengths)
        rest = stream.read(head_size + payload_size)
    except ConnectionError:
        return None
    if len(rest) < head_size + payload_size:
        return None
    whole = memoryview(rest)
    return json.loads(bytes(whole[:head_size])), whole[head_size:]


class Frames:
    """Frames out of bytes that come in pieces of any size."""

    def __init__(self) -> None:
        self._held = bytearray()

    def feed(self, data: bytes) -> list[tuple[dict[str, Any], memoryview]]:
        self._held += data
        found = []
        while len(self._held) >= LENGTHS.size:
            head_size, payload_size = LENGTHS.unpack_from(self._held)
            end = LENGTHS.size + head_size + payload_size
            if len(self._held) < end:
                break
            whole = memoryview(bytes(self._held[:end]))
            del self._held[:end]
            head = json.loads(bytes(whole[LENGTHS.size : LENGTHS.size + head_size]))
            found.append((head, whole[LENGTHS.size + head_size :]))
        return found
