"""SFTP, version 3, over one OpenSSH connection: requests as packets, several under way at once for one file."""

from __future__ import annotations

import contextlib
import stat
import struct
import subprocess
import tempfile
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import IO

from trainyard.backends.ssh_channel import Machine, calling, trouble
from trainyard.contract.errors import BackendAway, BadCredentials, DataAway, DataRefused, NoSuchData, TrainyardError

_INIT, _VERSION, _OPEN, _CLOSE, _READ, _WRITE, _FSTAT, _FSETSTAT = 1, 2, 3, 4, 5, 6, 8, 10
_OPENDIR, _READDIR, _REMOVE, _MKDIR, _STAT, _RENAME, _EXTENDED = 11, 12, 13, 14, 17, 18, 200
_STATUS, _HANDLE, _DATA, _NAME, _ATTRIBUTES = 101, 102, 103, 104, 105
_FOR_READING, _FOR_WRITING = 0x01, 0x02 | 0x08 | 0x20  # written: made, and not there before
_OK, _END, _NOTHING_THERE, _DENIED = 0, 1, 2, 3
_BLOCK = 32 << 10  # what every server takes and gives in one packet
_UNDER_WAY = 32
_REPLACING = b"posix-rename@openssh.com"
_LONGEST = 1 << 20


@dataclass(frozen=True)
class Attributes:
    size: int
    mode: int
    changed_s: int

    @property
    def is_file(self) -> bool:
        return stat.S_ISREG(self.mode)

    @property
    def is_folder(self) -> bool:
        return stat.S_ISDIR(self.mode)

    @property
    def is_link(self) -> bool:
        return stat.S_ISLNK(self.mode)


class Sftp:
    """For one thread at a time. After any trouble but an answer of the server it is closed."""

    def __init__(self, machine: Machine, known_hosts: str) -> None:
        self._machine = machine
        self._next = 0
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the connection
        with calling(machine, known_hosts) as (argv, environment):
            self._process = subprocess.Popen(
                [*argv, "-s", f"{machine.username}@{machine.address}", "sftp"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                env=environment,
                start_new_session=True,
                cwd="/",
            )
            try:
                self._send(_INIT, struct.pack(">I", 3), numbered=False)
                kind, body = self._packet()
            except DataAway as error:
                raise self._refused() from error
            if kind != _VERSION:
                self.close()
                raise DataRefused(f"{machine} does not speak SFTP. Ask its operator for its sftp subsystem.")
            self._replaces = _REPLACING in body

    @property
    def open(self) -> bool:
        return self._process.poll() is None

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._in.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(1)
        self._process.kill()
        self._process.wait()
        self._out.close()
        self._errors.close()

    # Files and folders; None: it is not there

    def look(self, path: str) -> Attributes | None:
        kind, body = self._ask(_STAT, _text(path))
        if kind == _STATUS and _code(body) == _NOTHING_THERE:
            return None
        return _attributes(self._must(kind, body, _ATTRIBUTES, path), 0)[0]

    def names(self, folder: str) -> list[tuple[str, Attributes]] | None:
        """What is in a folder, links as links."""
        kind, body = self._ask(_OPENDIR, _text(folder))
        if kind == _STATUS and _code(body) == _NOTHING_THERE:
            return None
        handle = _field(self._must(kind, body, _HANDLE, folder))
        found: list[tuple[str, Attributes]] = []
        with self._closing(handle):
            while True:
                kind, body = self._ask(_READDIR, _block(handle))
                if kind == _STATUS and _code(body) == _END:
                    return found
                found += _entries(self._must(kind, body, _NAME, folder))

    @contextlib.contextmanager
    def reading(
        self, path: str
    ) -> Iterator[tuple[Attributes, Callable[[int], Iterator[bytes]], Callable[[], Attributes]]]:
        """What it is, its bytes from an offset on, and what it is by then."""
        handle = _field(self._must(*self._ask(_OPEN, _text(path) + struct.pack(">II", _FOR_READING, 0)), _HANDLE, path))

        def about() -> Attributes:
            return _attributes(self._must(*self._ask(_FSTAT, _block(handle)), _ATTRIBUTES, path), 0)[0]

        with self._closing(handle):
            before = about()
            yield before, lambda offset: self._blocks(handle, path, offset, before.size), about

    def _blocks(self, handle: bytes, path: str, offset: int, size: int) -> Iterator[bytes]:
        """Answers come in the order of the requests; a short one is asked for again from where it ended."""
        asked: deque[tuple[int, int]] = deque()
        begin = offset
        try:
            while asked or begin < size:
                while begin < size and len(asked) < _UNDER_WAY:
                    length = min(_BLOCK, size - begin)
                    self._send(_READ, _block(handle) + struct.pack(">QI", begin, length))
                    asked.append((begin, length))
                    begin += length
                at, length = asked.popleft()
                data = _field(self._must(*self._packet(), _DATA, path))
                yield data
                while len(data) < length:
                    self._drop(asked)
                    begin = at = at + len(data)
                    length = min(_BLOCK, size - at)
                    data = _field(
                        self._must(*self._ask(_READ, _block(handle) + struct.pack(">QI", at, length)), _DATA, path)
                    )
                    begin = at + len(data)
                    yield data
        finally:
            self._drop(asked)

    def write(self, path: str, content: IO[bytes]) -> None:
        """A file that was not there before."""
        begun = self._ask(_OPEN, _text(path) + struct.pack(">III", _FOR_WRITING, 4, 0o644))
        handle = _field(self._must(*begun, _HANDLE, path))
        with self._closing(handle):
            at = under_way = 0
            while data := content.read(_BLOCK):
                self._send(_WRITE, _block(handle) + struct.pack(">Q", at) + _block(data))
                at, under_way = at + len(data), under_way + 1
                if under_way == _UNDER_WAY:
                    self._must(*self._packet(), _STATUS, path)
                    under_way -= 1
            for _ in range(under_way):
                self._must(*self._packet(), _STATUS, path)

    def date(self, path: str, changed_s: int) -> None:
        kind, body = self._ask(_OPEN, _text(path) + struct.pack(">II", 0x02, 0))
        handle = _field(self._must(kind, body, _HANDLE, path))
        with self._closing(handle):
            said = _block(handle) + struct.pack(">III", 8, changed_s, changed_s)
            self._must(*self._ask(_FSETSTAT, said), _STATUS, path)

    def make_folder(self, path: str) -> bool:
        """False: it cannot be made; perhaps it is there."""
        kind, body = self._ask(_MKDIR, _text(path) + struct.pack(">I", 0))
        return kind == _STATUS and _code(body) == _OK

    def rename(self, path: str, to: str) -> None:
        """Over what was there."""
        if self._replaces:
            answer = self._ask(_EXTENDED, _block(_REPLACING) + _text(path) + _text(to))
        else:
            self.remove(to)  # such a server has no way to do both at once
            answer = self._ask(_RENAME, _text(path) + _text(to))
        self._must(*answer, _STATUS, to)

    def remove(self, path: str) -> None:
        kind, body = self._ask(_REMOVE, _text(path))
        if kind != _STATUS or _code(body) != _NOTHING_THERE:
            self._must(kind, body, _STATUS, path)

    # Packets

    @property
    def _in(self) -> IO[bytes]:
        assert self._process.stdin is not None
        return self._process.stdin

    @property
    def _out(self) -> IO[bytes]:
        assert self._process.stdout is not None
        return self._process.stdout

    def _ask(self, kind: int, body: bytes) -> tuple[int, bytes]:
        self._send(kind, body)
        return self._packet()

    def _send(self, kind: int, body: bytes, *, numbered: bool = True) -> None:
        number = struct.pack(">I", self._next) if numbered else b""
        self._next = (self._next + 1) & 0xFFFFFFFF
        try:
            self._in.write(struct.pack(">IB", len(number) + len(body) + 1, kind) + number + body)
            self._in.flush()
        except OSError as error:
            raise self._broken() from error

    def _packet(self) -> tuple[int, bytes]:
        """The next answer. OpenSSH's server, as every other known, answers in the order it is asked."""
        (length,) = struct.unpack(">I", self._exactly(4))
        if not 0 < length <= _LONGEST:
            self.close()
            raise DataRefused(
                f"{self._machine} answers with something that is not SFTP. Check its shell's start files."
            )
        packet = self._exactly(length)
        return packet[0], packet[1:] if packet[0] == _VERSION else packet[5:]

    def _exactly(self, length: int) -> bytes:
        data = self._out.read(length)
        if len(data) != length:
            raise self._broken()
        return data

    def _drop(self, asked: deque[tuple[int, int]]) -> None:
        if self.open:
            while asked:
                asked.popleft()
                self._packet()

    @contextlib.contextmanager
    def _closing(self, handle: bytes) -> Iterator[None]:
        try:
            yield
        finally:
            if self.open:
                self._ask(_CLOSE, _block(handle))

    def _must(self, kind: int, body: bytes, wanted: int, path: str) -> bytes:
        if kind == wanted and (kind != _STATUS or _code(body) == _OK):
            return body
        code = _code(body) if kind == _STATUS else -1
        if code == _NOTHING_THERE:
            raise NoSuchData(f"There is no {path!r} on {self._machine}. Check the path.")
        if code == _DENIED:
            raise BadCredentials(
                f"{self._machine.username} may not use {path!r} on {self._machine}. Change its rights."
            )
        said = _field(body[4:]).decode("utf-8", "replace") if kind == _STATUS else f"packet {kind}"
        raise DataRefused(
            f"{path!r} cannot be used on {self._machine} ({said}). Is its disk full, or a folder in the way?"
        )

    def _broken(self) -> DataAway:
        self._process.kill()
        return DataAway(f"The connection to {self._machine} broke off. Try again.")

    def _refused(self) -> TrainyardError:
        """What OpenSSH said when no connection came about."""
        self._process.wait()
        self._errors.seek(0)
        told = trouble(self._machine, self._errors.read().decode("utf-8", "replace"))
        self.close()
        if isinstance(told, BackendAway):
            return DataAway(told.message)
        return BadCredentials(told.message)


def _block(data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + data


def _text(path: str) -> bytes:
    return _block(path.encode("utf-8", "surrogateescape"))


def _field(body: bytes, at: int = 0) -> bytes:
    (length,) = struct.unpack_from(">I", body, at)
    return body[at + 4 : at + 4 + length]


def _code(body: bytes) -> int:
    return int(struct.unpack_from(">I", body)[0])


def _entries(body: bytes) -> Iterator[tuple[str, Attributes]]:
    (count,) = struct.unpack_from(">I", body)
    at = 4
    for _ in range(count):
        name = _field(body, at)
        at += 4 + len(name)
        at += 4 + len(_field(body, at))  # the line that `ls -l` would print
        about, at = _attributes(body, at)
        yield name.decode("utf-8", "surrogateescape"), about


def _attributes(body: bytes, at: int) -> tuple[Attributes, int]:
    """What is said there, and where it ends."""
    (flags,) = struct.unpack_from(">I", body, at)
    at += 4
    size = mode = changed = 0
    if flags & 1:
        (size,) = struct.unpack_from(">Q", body, at)
        at += 8
    if flags & 2:
        at += 8
    if flags & 4:
        (mode,) = struct.unpack_from(">I", body, at)
        at += 4
    if flags & 8:
        changed = struct.unpack_from(">II", body, at)[1]
        at += 8
    if flags & 0x80000000:
        (count,) = struct.unpack_from(">I", body, at)
        at += 4
        for _ in range(2 * count):
            at += 4 + len(_field(body, at))
    return Attributes(size, mode, changed), at
