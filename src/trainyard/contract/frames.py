"""How an agent reports: one body of frames, applied in order. An empty body is a heartbeat.

Each frame is a 4-byte big-endian length, a JSON header of that length, and `size` bytes of payload. The kinds:

    log      {stream, offset}   payload: bytes of the log `stream` (a file name such as azureml-logs/70_driver_log.txt)
    metrics  {stream, offset}   payload: whole cells of the tape `stream` (see contract/tape.py)
    system   {stream, offset}   the same, of what the agent measured on its node
    started  {}                 the user's processes have been started on this node
    ended    {…NodeEnded}       they are gone
    files    {}                 payload: JSON list of RunFile whose blobs are in the store
    final    {}                 nothing more comes from this node

`offset` counts from the start of this attempt's stream. The service applies only what it does not have yet, so a report
that is sent twice counts once.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from trainyard.contract.errors import InvalidRequest

MAX_REPORT = 8 << 20  # bytes; senders split what is longer


@dataclass(frozen=True)
class Frame:
    kind: str
    header: dict[str, Any] = field(default_factory=dict)
    payload: bytes = b""


def encode(frames: list[Frame]) -> bytes:
    parts: list[bytes] = []
    for frame in frames:
        header = json.dumps({**frame.header, "kind": frame.kind, "size": len(frame.payload)}).encode()
        parts += [len(header).to_bytes(4, "big"), header, frame.payload]
    return b"".join(parts)


def decode(body: bytes) -> Iterator[Frame]:
    at = 0
    while at < len(body):
        try:
            length = int.from_bytes(body[at : at + 4], "big")
            header = json.loads(body[at + 4 : at + 4 + length])
            kind, size = str(header.pop("kind")), int(header.pop("size"))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise InvalidRequest(f"The report is damaged at byte {at}. Send it again.") from error
        at += 4 + length
        if size < 0 or at + size > len(body):
            raise InvalidRequest(f"The report ends inside a frame at byte {at}. Send it again.")
        yield Frame(kind, header, body[at : at + size])
        at += size
