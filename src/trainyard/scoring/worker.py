"""One scoring process: loads what it is told to, then answers requests until the front goes away."""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import os
import queue
import signal
import socket
import sys
import threading
import time
import traceback
from types import FrameType
from typing import Any, BinaryIO, cast

from trainyard.scoring import wire
from trainyard.scoring.kinds import scorer_for
from trainyard.scoring.scorer import CannotLoad, Refused, Scorer
from trainyard.scoring.wire import Answer, Assignment, Request

_PR_SET_PDEATHSIG = 1


class ScoringTimeout(BaseException):
    """Not an Exception: a run() that catches everything is interrupted all the same."""


def main(descriptor: int, front: int) -> int:
    _end_with(front)
    _show_where_it_hangs()
    for stream in (sys.stdout, sys.stderr):  # a line is one write: those of several processes do not mix
        stream.reconfigure(line_buffering=True, write_through=False)  # type: ignore[union-attr]
    sock = socket.socket(fileno=descriptor)
    worker = Worker(sock)
    code = worker.run()
    _flush()
    return code


def _end_with(front: int) -> None:
    """The front may be killed at any moment, and a worker in a long run() would not see its socket close."""
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != front:
        os._exit(1)


def _show_where_it_hangs() -> None:
    """The front asks with SIGUSR1 before it ends a process that does not answer."""
    faulthandler.enable()
    faulthandler.register(signal.SIGUSR1, all_threads=True, chain=False)


def _enter(source: str | None) -> None:
    """The scoring code's folder is the working folder and first on the path, where so far ours was."""
    del sys.path[0]
    if source:
        os.chdir(source)
        sys.path.insert(0, source)


class Worker:
    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._stream = cast("BinaryIO", sock.makefile("rb", buffering=1 << 16))
        self._sending = threading.Lock()
        self._scorer: Scorer | None = None
        self._limited = False

    def run(self) -> int:
        opened = wire.receive(self._stream)
        if opened is None:
            return 0
        head, _ = opened
        assignment = Assignment(**head["assignment"])
        _enter(assignment.source)
        if not self._load(assignment):
            return 1
        if assignment.threads > 1:
            self._serve_with_threads(assignment.threads)
        else:
            signal.signal(signal.SIGALRM, self._interrupt)
            self._serve()
        return 0

    def _load(self, assignment: Assignment) -> bool:
        began = time.monotonic()
        try:
            scorer = scorer_for(assignment)
            scorer.load()
            pages = {"swagger": scorer.swagger(), "signatures": scorer.signatures()}
        except CannotLoad as error:
            self._send(wire.pack({"kind": "failed", "error": str(error)}))
            return False
        except BaseException as error:  # noqa: BLE001 - what the user's code throws, sys.exit() too, is the reason
            text = traceback.format_exc()
            print(text, file=sys.stderr, flush=True)
            self._send(wire.pack({"kind": "failed", "error": _reason(error) + "\n" + _their_part(text)}))
            return False
        self._scorer = scorer
        _flush()
        took = round((time.monotonic() - began) * 1000)
        self._send(wire.pack({"kind": "ready", **pages, "raw": scorer.raw, "batches": scorer.batches, "ms": took}))
        return True

    def _serve(self) -> None:
        while True:
            got = wire.receive(self._stream)
            if got is None:
                return
            self._answer(*got)

    def _serve_with_threads(self, threads: int) -> None:
        waiting: queue.Queue[tuple[dict[str, Any], memoryview] | None] = queue.Queue()

        def work() -> None:
            while True:
                got = waiting.get()
                if got is None:
                    return
                self._answer(*got)

        for number in range(threads):
            threading.Thread(target=work, name=f"score-{number}", daemon=True).start()
        while True:
            got = wire.receive(self._stream)
            if got is None:
                return
            waiting.put(got)

    def _answer(self, head: dict[str, Any], payload: memoryview) -> None:
        requests = wire.unpack_requests(head, payload)
        began = time.perf_counter()
        answers = self._score(requests, head["limit_ms"])
        took = (time.perf_counter() - began) * 1000
        _flush()
        self._send(wire.pack_answers(head["id"], answers, took))

    def _score(self, requests: list[Request], limit_ms: int) -> list[Answer]:
        scorer = self._scorer
        assert scorer is not None
        try:
            self._limit(limit_ms)
            answers = [scorer.score(requests[0])] if len(requests) == 1 else scorer.score_many(requests)
            self._limit(0)
            return answers
        except Refused as refused:
            self._limit(0)
            return [scorer.error(refused.status, refused.message)] * len(requests)
        except ScoringTimeout:
            traceback.print_exc()
            return [scorer.error(500, f"Scoring timeout after {limit_ms} ms", run_failed=True)] * len(requests)
        except BaseException as error:  # noqa: BLE001 - run() may throw anything; the next request is served
            self._limit(0)
            traceback.print_exc()
            return [scorer.error(500, _reason(error), run_failed=True)] * len(requests)

    def _limit(self, ms: int) -> None:
        """Only the main thread can be interrupted; where requests have threads, the front ends the process."""
        if threading.current_thread() is threading.main_thread():
            self._limited = bool(ms)
            signal.setitimer(signal.ITIMER_REAL, ms / 1000)

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        del number, frame
        if self._limited:
            self._limited = False
            raise ScoringTimeout

    def _send(self, frame: bytes) -> None:
        with self._sending:
            try:
                self._sock.sendall(frame)
            except ConnectionError:
                os._exit(0)  # the front has gone, and with it everyone who waits for this


def _reason(error: BaseException) -> str:
    if isinstance(error, SystemExit):
        return f"The scoring code called sys.exit({error.code!r})"
    text = str(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _their_part(text: str) -> str:
    """A traceback without the frames of this package and of Python's imports, which say nothing about the script."""
    kept, left_out = [], False
    for line in text.splitlines():
        if line.startswith("  File "):
            left_out = any(part in line for part in _NOT_THEIRS)
        elif not line.startswith("    "):
            left_out = False
        if not left_out:
            kept.append(line)
    return "\n".join(kept) if any(line.startswith("  File ") for line in kept) else text


_NOT_THEIRS = ("<frozen importlib", os.path.join("trainyard", "scoring", ""), os.path.join("trainyard", "shims", ""))


def _flush() -> None:
    """What a request printed is in the log before its answer is sent."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            stream.flush()
