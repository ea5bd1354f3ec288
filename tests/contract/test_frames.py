"""Reports: what is sent arrives, and damage is refused in words, never half applied without one."""

from __future__ import annotations

import random

import pytest

from trainyard.contract.errors import InvalidRequest
from trainyard.contract.frames import Frame, decode, encode

FRAMES = [
    Frame("log", {"stream": "azureml-logs/70_driver_log.txt", "offset": 0}, b"line\nno utf-8: \xff\n"),
    Frame("metrics", {"stream": "0.tape", "offset": 64}, bytes(range(256))),
    Frame("started"),
    Frame("files", {}, b"[]"),
    Frame("ended", {"exit_code": 3}),
    Frame("final"),
]


def test_there_and_back() -> None:
    assert list(decode(encode(FRAMES))) == FRAMES


def test_an_empty_report_is_a_heartbeat() -> None:
    assert encode([]) == b""
    assert list(decode(b"")) == []


def test_the_bytes() -> None:
    header = b'{"offset": 5, "kind": "log", "size": 2}'
    assert encode([Frame("log", {"offset": 5}, b"hi")]) == len(header).to_bytes(4, "big") + header + b"hi"


def test_a_report_cut_anywhere_is_refused_or_ends_between_frames() -> None:
    body = encode(FRAMES)
    whole = {len(encode(FRAMES[:count])): count for count in range(len(FRAMES) + 1)}
    for length in range(len(body)):
        if length in whole:
            assert list(decode(body[:length])) == FRAMES[: whole[length]]
        else:
            with pytest.raises(InvalidRequest, match="Send it again"):
                list(decode(body[:length]))


def test_random_damage_is_refused_or_makes_other_frames() -> None:
    chance = random.Random(5)
    body = encode(FRAMES)
    for _ in range(3000):
        damaged = bytearray(body)
        for _ in range(chance.randrange(1, 4)):
            damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        try:
            frames = list(decode(bytes(damaged)))
        except InvalidRequest:
            continue
        assert all(isinstance(frame, Frame) for frame in frames)


@pytest.mark.parametrize(
    "header",
    [
        b"",
        b"null",
        b"[]",
        b"7",
        b'"text"',
        b"{}",
        b'{"kind": "log"}',
        b'{"kind": "log", "size": -1}',
        b'{"kind": "log", "size": 1}',
        b'{"kind": "log", "size": null}',
        b'{"kind": "log", "size": "many"}',
        b"[" * 100_000,
    ],
)
def test_headers_that_make_no_sense(header: bytes) -> None:
    with pytest.raises(InvalidRequest):
        list(decode(len(header).to_bytes(4, "big") + header))


def test_a_length_beyond_the_end() -> None:
    with pytest.raises(InvalidRequest):
        list(decode(b"\xff\xff\xff\xff{}"))
