"""The other end of remote_shell: takes lines from the run's own programs on other nodes. The main thread runs them."""

from __future__ import annotations

import contextlib
import hmac
import json
import os
import queue
import shlex
import signal
import socket
import sys
import threading
from dataclasses import dataclass
from typing import TextIO

from trainyard.agent import remote_shell

_LONGEST_LINE = 1 << 20
_ANSWER_S = 30.0


@dataclass
class Request:
    """One line, proven to come from the run."""

    line: str
    stream: TextIO
    connection: socket.socket

    def answer(self, code: int) -> None:
        with contextlib.suppress(OSError, ValueError):  # whoever asked is gone
            self.stream.write(json.dumps({"code": code}) + "\n")
            self.stream.flush()
        with contextlib.suppress(OSError):
            self.connection.close()


class ShellServer(threading.Thread):
    def __init__(self, address: str, port: int, token: str) -> None:
        super().__init__(name="shell-server", daemon=True)
        self.requests: queue.SimpleQueue[Request] = queue.SimpleQueue()
        self._token = token
        self._listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self._listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._listening.bind((address, port))
        self._listening.listen(16)

    def run(self) -> None:
        while True:
            try:
                connection, _ = self._listening.accept()
            except OSError:
                return
            threading.Thread(target=self._hear, args=(connection,), daemon=True).start()

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()

    def _hear(self, connection: socket.socket) -> None:
        riddle = os.urandom(32).hex()
        connection.settimeout(_ANSWER_S)
        stream = connection.makefile("rw", encoding="utf-8")
        try:
            stream.write(json.dumps({"riddle": riddle}) + "\n")
            stream.flush()
            said = json.loads(stream.readline(_LONGEST_LINE))
            line, proof = str(said["line"]), str(said["proof"])
        except (OSError, ValueError, KeyError, TypeError):
            connection.close()
            return
        if not hmac.compare_digest(remote_shell.proof(self._token, riddle, line), proof):
            connection.close()
            return
        connection.settimeout(None)
        self.requests.put(Request(line, stream, connection))
        os.kill(os.getpid(), signal.SIGCHLD)  # wakes the main thread


def install_client(folder: str, name: str) -> None:
    """A program `name` in `folder` that is remote_shell with our interpreter, whatever is on the job's path."""
    os.makedirs(folder, mode=0o700, exist_ok=True)
    argv = [sys.executable, "-I", "-S", os.path.abspath(remote_shell.__file__)]
    fd = os.open(os.path.join(folder, name), os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o700)
    with open(fd, "w", encoding="utf-8") as file:
        file.write(f'#!/bin/sh\nexec {shlex.join(argv)} "$@"\n')
