"""TensorBoard's event files, written and read without TensorFlow: records of a length, a protobuf message and two
checksums. Of the messages only what scalars need is known here: Event{1 wall_time, 2 step, 3 file_version,
5 summary{1 value{1 tag, 2 simple_value, 8 tensor}}}."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

_CHECKED = 4096  # bytes; a longer record (an image, a histogram) holds no scalar and is passed over
_MASK = 0xA282EAD8
_FLOAT, _DOUBLE, _INT32, _INT64 = 1, 2, 3, 9  # TensorFlow's numbers for types
_FORMATS = {_FLOAT: "<f", _DOUBLE: "<d", _INT32: "<i", _INT64: "<q"}
_VALUE_FIELDS = {_FLOAT: 5, _DOUBLE: 6, _INT32: 7, _INT64: 10}  # where a tensor of that type keeps single values


@dataclass(frozen=True)
class Scalar:
    tag: str
    step: int
    wall_time: float
    value: float


def header(wall_time: float) -> bytes:
    """What an event file begins with."""
    return _record(_fixed64(1, wall_time) + _bytes(3, b"brain.Event:2"))


def encode(scalar: Scalar) -> bytes:
    value = _bytes(1, scalar.tag.encode("utf-8", "replace")) + b"\x15" + struct.pack("<f", _as_float(scalar.value))
    event = _fixed64(1, scalar.wall_time) + b"\x10" + _varint(scalar.step & (1 << 64) - 1) + _bytes(5, _bytes(1, value))
    return _record(event)


def decode(data: bytes) -> tuple[list[Scalar], int]:
    """Every scalar of the whole records in `data`, and how many bytes those are. A damaged file ends where the damage
    begins: everything in `data` counts as read then."""
    found: list[Scalar] = []
    at = 0
    while at + 12 <= len(data):
        length, check = struct.unpack_from("<QI", data, at)
        if check != _masked(data[at : at + 8]):
            return found, len(data)
        end = at + 12 + length + 4
        if end > len(data):
            break
        if length <= _CHECKED:
            message = data[at + 12 : end - 4]
            if struct.unpack_from("<I", data, end - 4)[0] != _masked(message):
                return found, len(data)
            found += _scalars(message)
        at = end
    return found, at


def _scalars(message: bytes) -> Iterator[Scalar]:
    wall_time, step, summary = 0.0, 0, b""
    try:
        for number, value in _fields(message):
            if number == 1:
                wall_time = struct.unpack("<d", value)[0]
            elif number == 2:
                step = value - (1 << 64) if value >= 1 << 63 else value
            elif number == 5:
                summary = value
        for number, value in _fields(summary):
            if number == 1 and (read := _tag_and_value(value)) is not None:
                yield Scalar(read[0], step, wall_time, read[1])
    except (IndexError, struct.error, TypeError, ValueError):
        return  # a message of another making


def _tag_and_value(message: bytes) -> tuple[str, float] | None:
    tag, number = "", None
    for field, value in _fields(message):
        if field == 1:
            tag = value.decode("utf-8", "replace")
        elif field == 2:
            number = struct.unpack("<f", value)[0]
        elif field == 8:
            number = _of_tensor(value)
    return (tag, number) if tag and number is not None else None


def _of_tensor(message: bytes) -> float | None:
    """The one number in a tensor; None for a tensor of more, or of other things."""
    fields: dict[int, list[Any]] = {}
    for number, value in _fields(message):
        fields.setdefault(number, []).append(value)
    kind = fields.get(1, [0])[0]
    if kind not in _FORMATS or any(fields.get(2, [])):
        return None
    if content := fields.get(4, [b""])[0]:
        return float(struct.unpack(_FORMATS[kind], content)[0])
    given = fields.get(_VALUE_FIELDS[kind], [])
    if not given:
        return None
    value = given[0]
    if isinstance(value, int):  # a single varint
        return float(value - (1 << 64) if value >= 1 << 63 else value)
    if kind in (_FLOAT, _DOUBLE):
        return float(struct.unpack_from(_FORMATS[kind], value)[0])
    whole = _read_varint(value, 0)[0]
    return float(whole - (1 << 64) if whole >= 1 << 63 else whole)


def _fields(message: bytes) -> Iterator[tuple[int, Any]]:
    """(number, value) of each field: an int, or its bytes."""
    at = 0
    while at < len(message):
        key, at = _read_varint(message, at)
        kind = key & 7
        if kind == 0:
            value, at = _read_varint(message, at)
            yield key >> 3, value
            continue
        if kind == 2:
            length, at = _read_varint(message, at)
        elif kind in (1, 5):
            length = 8 if kind == 1 else 4
        else:
            raise ValueError(f"a field of kind {kind}")
        if at + length > len(message):
            raise ValueError("a field ends behind its message")
        yield key >> 3, message[at : at + length]
        at += length


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def _varint(value: int) -> bytes:
    found = bytearray()
    while value >= 0x80:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)


def _fixed64(number: int, value: float) -> bytes:
    return bytes([number << 3 | 1]) + struct.pack("<d", value)


def _bytes(number: int, value: bytes) -> bytes:
    return bytes([number << 3 | 2]) + _varint(len(value)) + value


def _as_float(value: float) -> float:
    """What fits into four bytes; larger numbers are infinite there."""
    try:
        return struct.unpack("<f", struct.pack("<f", value))[0]  # type: ignore[no-any-return]
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def _record(message: bytes) -> bytes:
    length = struct.pack("<Q", len(message))
    return length + struct.pack("<I", _masked(length)) + message + struct.pack("<I", _masked(message))


def _table() -> list[int]:
    table = []
    for number in range(256):
        for _ in range(8):
            number = number >> 1 ^ (0x82F63B78 if number & 1 else 0)
        table.append(number)
    return table


_CRC = _table()


def _masked(data: bytes) -> int:
    """CRC-32C, turned and shifted as the format wants it."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _CRC[(crc ^ byte) & 0xFF] ^ crc >> 8
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + _MASK) & 0xFFFFFFFF
