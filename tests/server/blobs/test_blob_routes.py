"""Blobs through a real socket, with the real client."""

from __future__ import annotations

import hashlib
import io
import os
import socket
from pathlib import Path

import pytest

from trainyard.client.blobs import Blobs
from trainyard.client.http import Http
from trainyard.contract.errors import DigestMismatch, InvalidRequest, NotFound, UnknownBlob
from trainyard.server.context import Context


@pytest.fixture
def blobs(http_client: Http) -> Blobs:
    return Blobs(http_client)


def left_behind(context: Context) -> list[str]:
    folder = os.path.join(context.blobs.root, "tmp")
    return os.listdir(folder) if os.path.isdir(folder) else []


@pytest.mark.parametrize("size", [0, 1, 1 << 20, 5_000_001])
def test_what_was_put_is_there(context: Context, blobs: Blobs, tmp_path: Path, size: int) -> None:
    data = os.urandom(size)
    digest = hashlib.sha256(data).hexdigest()
    assert blobs.missing([digest, digest]) == [digest]
    (tmp_path / "upload").write_bytes(data)
    with open(tmp_path / "upload", "rb") as file:
        blobs.put(digest, file)
    blobs.put(digest, data)
    assert blobs.missing([digest]) == []
    assert blobs.read(digest) == data
    into = io.BytesIO()
    blobs.fetch(digest, into)
    assert into.getvalue() == data
    assert left_behind(context) == []


def test_bytes_under_a_wrong_name_are_refused(context: Context, blobs: Blobs) -> None:
    digest = hashlib.sha256(b"right").hexdigest()
    with pytest.raises(DigestMismatch):
        blobs.put(digest, b"wrong")
    with pytest.raises(UnknownBlob):
        blobs.read(digest)
    assert blobs.missing([digest]) == [digest]
    assert left_behind(context) == []


def test_damaged_content_is_asked_for_again_and_replaced(context: Context, blobs: Blobs) -> None:
    digest = hashlib.sha256(b"right").hexdigest()
    blobs.put(digest, b"right")
    Path(context.blobs.path_of(digest)).write_bytes(b"wrong")
    with pytest.raises(DigestMismatch):
        context.blobs.read(digest)
    assert blobs.missing([digest]) == [digest]
    blobs.put(digest, b"right")
    assert blobs.missing([digest]) == []
    assert blobs.read(digest) == b"right"


@pytest.mark.parametrize("digest", ["abc", "A" * 64, "..%2f..%2fetc%2fpasswd", "z" * 64])
def test_a_name_that_is_no_digest_never_becomes_a_path(http_client: Http, digest: str) -> None:
    for method in ("GET", "PUT"):
        with pytest.raises((InvalidRequest, NotFound)):
            http_client.send(method, f"/blobs/{digest}", b"x" if method == "PUT" else None)


def test_a_client_that_goes_away_in_the_middle_harms_nobody(http_client: Http, owner_token: str, blobs: Blobs) -> None:
    data = os.urandom(3 << 20)
    digest = hashlib.sha256(data).hexdigest()
    host, _, port = http_client.url.removeprefix("http://").partition(":")
    head = (
        f"PUT /api/v1/blobs/{digest} HTTP/1.1\r\nHost: {host}:{port}\r\nAuthorization: Bearer {owner_token}\r\n"
        f"Content-Length: {len(data)}\r\n\r\n"
    )
    with socket.create_connection((host, int(port))) as connection:
        connection.sendall(head.encode() + data[: 2 << 20])
    blobs.put(digest, data)  # and the next one is served
    assert blobs.read(digest) == data


@pytest.mark.parametrize("question", [b"", b"{}", b"[1]", b'["short"]', b"\xff"])
def test_odd_questions_are_refused(http_client: Http, question: bytes) -> None:
    with pytest.raises(InvalidRequest):
        http_client.send("POST", "/blobs/missing", question)
