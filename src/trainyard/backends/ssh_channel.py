"""One OpenSSH connection to an attached machine: its far end's requests, and a way back to the service.

The system's own `ssh` is used, with its agents and configuration, started with argument lists. Secrets reach it through
a file that only its owner reads and that is gone once the connection is there, or through SSH_ASKPASS; never through an
argument. A machine's host key is remembered when it is first seen, and a changed one is refused.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import re
import shlex
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from trainyard.backends.ship import UNPACK, bundle
from trainyard.contract.errors import BackendAway, BackendRefused, TrainyardError

_FOLDER = ".trainyard-remote"
_CONNECT_S = 8
_SETTLE_S = 60.0  # installing our sources on a slow line
_ANSWER_S = 30.0
_ASKPASS = """\
#!/bin/sh
case "$1" in
*[Pp]assphrase*) printf '%s\\n' "$TRAINYARD_SSH_PASSPHRASE" ;;
*) printf '%s\\n' "$TRAINYARD_SSH_PASSWORD" ;;
esac
"""
# What the machine's shell does: find a Python, take our sources if it has not got them, and become the far end. It says
# "have", "need" (then the archive follows on standard input) or "none".
_SETTLE = """\
for p in python3.13 python3.12 python3.11 python3 python; do
  q=$(command -v "$p") || continue
  "$q" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && py=$q && break
done
test -n "$py" || {{ echo none; exit 0; }}
code="$HOME/{folder}/code-{fingerprint}"
if test -d "$code"; then echo have; else echo need; "$py" -c {unpack} "$code" {size} || exit 1; fi
PATH="$PATH:$HOME/.local/bin" PYTHONPATH="$code" exec "$py" -m trainyard.backends.far_end "$HOME/{folder}/{identity}"
"""


@dataclass(frozen=True)
class Machine:
    """How a machine is reached. Its secrets are nobody's to print."""

    address: str
    username: str
    port: int = 22
    private_key: str = field(default="", repr=False)  # the key's text
    passphrase: str = field(default="", repr=False)
    password: str = field(default="", repr=False)

    def __str__(self) -> str:
        return f"{self.username}@{self.address}" + (f":{self.port}" if self.port != 22 else "")


class Channel:
    """A live connection. Requests are answered in turn; after any trouble it is closed, and a new one is made."""

    def __init__(self, machine: Machine, known_hosts: str, identity: str, way_back: tuple[int, str] | None) -> None:
        """`identity` names the service there. `way_back`: a port of that machine, and the host:port of ours it leads
        to."""
        self._lock = threading.Lock()
        self._machine = machine
        with calling(machine, known_hosts) as (argv, environment):
            if way_back is not None:
                argv += ["-o", "ExitOnForwardFailure=yes", "-R", f"127.0.0.1:{way_back[0]}:{way_back[1]}"]
            self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the channel
            self._process = subprocess.Popen(
                [*argv, f"{machine.username}@{machine.address}", _settle(identity)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                env=environment,
                start_new_session=True,
                cwd="/",
            )
            self._answers: queue.SimpleQueue[bytes] = queue.SimpleQueue()
            self._reader = threading.Thread(target=self._read, name="ssh-answers", daemon=True)
            self._reader.start()
            try:
                self._settled()
                self.hello: dict[str, Any] = self.ask({"verb": "hello"})
            except TrainyardError:
                self.close()
                raise

    def _settled(self) -> None:
        """Until the far end is about to listen."""
        try:
            said = self._answers.get(timeout=_SETTLE_S).strip()
            if said == b"need":
                self._send(bundle().archive)
        except (OSError, ValueError, queue.Empty) as error:
            raise self._away(error) from error
        if said == b"none":
            raise BackendRefused(
                f"{self._machine} has no Python 3.11 or later on its PATH, and agents need one. Install it there "
                "(python3.11 is enough), then attach the machine again."
            )
        if said not in (b"have", b"need"):
            raise self._away(None)

    def _send(self, data: bytes) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(data)
        self._process.stdin.flush()

    def ask(self, request: dict[str, Any], within_s: float = _ANSWER_S) -> Any:
        with self._lock:
            try:
                self._send(json.dumps(request).encode() + b"\n")
                line = self._answers.get(timeout=within_s)
            except (OSError, ValueError, queue.Empty) as error:
                raise self._away(error) from error
        if not line:
            raise self._away(None)
        said = json.loads(line)
        if "error" in said:
            raise TrainyardError.from_json(said["error"])
        return said["answer"]

    @property
    def open(self) -> bool:
        return self._process.poll() is None

    def close(self) -> None:
        """The far end goes with it; the agents there stay."""
        with contextlib.suppress(OSError):
            self._process.kill()
        self._process.wait()
        self._reader.join()
        for pipe in (self._process.stdin, self._process.stdout, self._errors):
            with contextlib.suppress(OSError, ValueError):
                if pipe is not None:
                    pipe.close()

    def _read(self) -> None:
        assert self._process.stdout is not None
        with contextlib.suppress(OSError, ValueError):
            for line in self._process.stdout:
                self._answers.put(line)
        self._answers.put(b"")

    def _away(self, error: Exception | None) -> TrainyardError:
        """It is over: what ssh said of it, if anything."""
        said = repr(error)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(1)
        with contextlib.suppress(OSError, ValueError):
            self._process.kill()
            self._errors.seek(0)
            said = self._errors.read().decode("utf-8", "replace") or said
        self.close()
        return trouble(self._machine, said)


@contextlib.contextmanager
def calling(machine: Machine, known_hosts: str) -> Iterator[tuple[list[str], dict[str, str]]]:
    """The command that reaches it, up to its name, and the variables that go with it: until it has been let in."""
    with _private(machine) as (options, environment):
        yield [_program(), *_options(machine, known_hosts), *options], environment


def trouble(machine: Machine, said: str) -> TrainyardError:
    """What OpenSSH's words mean for the user."""
    last = next((line.strip() for line in reversed(said.splitlines()) if line.strip()), "no answer").rstrip(".")
    if re.search(r"Permission denied|Too many authentication failures|Load key|incorrect passphrase", said):
        return BackendRefused(
            f"{machine} refuses to let {machine.username} in: {last}. Check username, private_key_file and password, "
            f"and that `ssh {machine.username}@{machine.address}` works."
        )
    if "REMOTE HOST IDENTIFICATION HAS CHANGED" in said or "Host key verification failed" in said:
        return BackendRefused(
            f"{machine} shows another host key than when it was attached. If that is meant to be, remove its line from "
            "ssh/known_hosts in the service's home."
        )
    return BackendAway(f"{machine} does not answer over SSH: {last}. Is it up, and is the port right?")


def _settle(identity: str) -> str:
    packed = bundle()
    script = _SETTLE.format(
        folder=_FOLDER,
        fingerprint=packed.fingerprint,
        unpack=shlex.quote(UNPACK),
        size=len(packed.archive),
        identity=identity,
    )
    return f"sh -c {shlex.quote(script)}"


def _program() -> str:
    found = shutil.which("ssh")
    if found is None:
        raise BackendRefused("There is no `ssh` on the service's machine. Install OpenSSH's client.")
    return found


def _options(machine: Machine, known_hosts: str) -> list[str]:
    said = {
        "ConnectTimeout": _CONNECT_S,
        "StrictHostKeyChecking": "accept-new",
        "UserKnownHostsFile": known_hosts,
        "NumberOfPasswordPrompts": 1,
        "ServerAliveInterval": 5,
        "ServerAliveCountMax": 2,
        "ControlPath": "none",
        "LogLevel": "ERROR",
        "Port": machine.port,
    }
    return ["-T", "-F", "none", *(part for name, value in said.items() for part in ("-o", f"{name}={value}"))]


@contextlib.contextmanager
def _private(machine: Machine) -> Iterator[tuple[list[str], dict[str, str]]]:
    """The options and variables that let us in, for as long as they are needed."""
    environment = dict(os.environ)
    with tempfile.TemporaryDirectory(prefix="trainyard-ssh-") as folder:
        options = []
        if machine.private_key:
            path = _write(folder, "key", machine.private_key.rstrip("\n") + "\n", 0o600)
            options += ["-i", path, "-o", "IdentitiesOnly=yes"]
        if machine.password or machine.passphrase:
            environment |= {
                "SSH_ASKPASS": _write(folder, "askpass", _ASKPASS, 0o700),
                "SSH_ASKPASS_REQUIRE": "force",
                "DISPLAY": environment.get("DISPLAY", ":0"),
                "TRAINYARD_SSH_PASSWORD": machine.password,
                "TRAINYARD_SSH_PASSPHRASE": machine.passphrase,
            }
        else:
            options += ["-o", "BatchMode=yes"]
        yield options, environment


def _write(folder: str, name: str, text: str, mode: int) -> str:
    path = os.path.join(folder, name)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "w", encoding="utf-8") as file:
        file.write(text)
    return path
