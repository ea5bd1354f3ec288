"""The builder: `python -m trainyard.environments.build --home H --key K`. It reads the request of that key, builds, and
writes what came of it. One builder at a time works on a key; who comes second finds it built."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import time
import traceback
from collections.abc import Mapping
from dataclasses import replace
from types import FrameType

from trainyard.blobs.base import FULL
from trainyard.contract.codec import from_json, to_json
from trainyard.contract.errors import BuildFailed, DiskFull, EnvironmentRefused, TrainyardError, Unsatisfied
from trainyard.environments.make import make
from trainyard.environments.request import Request
from trainyard.environments.store import Store, size_of

FAILED = 1
NO_REQUEST = 2


def main() -> int:
    given = dict(zip(sys.argv[1::2], sys.argv[2::2], strict=False))
    if set(given) != {"--home", "--key"}:
        print("python -m trainyard.environments.build --home HOME --key KEY", file=sys.stderr)
        return NO_REQUEST
    for number in (signal.SIGTERM, signal.SIGALRM):
        signal.signal(number, _told)  # what is half-made is cleared away on the way out
    os.umask(0o077)
    store, key = Store(given["--home"]), given["--key"]
    try:
        with open(store.state(key, "request"), encoding="utf-8") as file:
            request = from_json(Request, json.load(file))
    except OSError as error:
        if store.find(key) is not None:
            return 0
        print(f"There is no request for {key}: {error}", file=sys.stderr)
        return FAILED if store.failure(key) is not None else NO_REQUEST
    return build(store, request, os.environ)


def build(store: Store, request: Request, variables: Mapping[str, str]) -> int:
    """0: the environment is there. Else `store.failure` says why it is not. The request goes when it is answered: it
    may hold credentials. That of a builder which was told to end stays, for the one that is started in its place."""
    code = _build(store, request, variables)
    with contextlib.suppress(FileNotFoundError):
        os.unlink(store.state(request.key, "request"))
    return code


def _build(store: Store, request: Request, variables: Mapping[str, str]) -> int:
    began = time.monotonic()
    try:
        with store.building(request.key) as folder:
            if store.find(request.key) is not None:
                return 0
            with open(store.state(request.key, "building"), "w", encoding="ascii") as file:
                file.write(str(os.getpid()))
            try:
                built = make(request, folder, store, variables, say)
            except SystemExit:
                signal.setitimer(signal.ITIMER_REAL, 0)  # heard: what is cleared away now is not to be interrupted
                raise
            store.mark(built)
            say(f"Environment {request.name} is ready in {time.monotonic() - began:.1f} s.")
            store.mark(replace(built, size=size_of(folder)))  # nobody has to wait for this
        return 0
    except (Unsatisfied, BuildFailed) as error:  # the solver's or compiler's own sentence, and what to do about it
        sentence = error.message.rstrip(". ")
        message = f"{sentence}. Change the packages of environment {request.name}, then submit again."
        return _failed(store, request, type(error)(message))
    except TrainyardError as error:
        return _failed(store, request, error)
    except OSError as error:
        if error.errno in FULL:
            return _failed(store, request, DiskFull(store.root))
        return _failed(store, request, EnvironmentRefused(f"The build failed: {error}. Submit it again."))
    except Exception as error:  # noqa: BLE001 - who leaves without a word is taken for killed, and started again
        traceback.print_exc()
        what = f"{type(error).__name__}: {error}"
        return _failed(store, request, EnvironmentRefused(f"The builder failed ({what}). The build's log says where."))


def write_request(store: Store, request: Request) -> None:
    """Addresses in it may hold credentials: only its owner reads it."""
    path = store.state(request.key, "request")
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    fd = os.open(f"{path}.{os.getpid()}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with open(fd, "w", encoding="utf-8") as file:
        json.dump(to_json(request), file)
    os.replace(f"{path}.{os.getpid()}", path)


def say(line: str) -> None:
    print(line, flush=True)


def _failed(store: Store, request: Request, error: TrainyardError) -> int:
    say(error.message)
    try:
        store.fail(request.key, error)
    except (TrainyardError, OSError) as full:  # the disk has no place for it either; the log has it
        say(str(full))
    return FAILED


def _told(_number: int, _frame: FrameType | None) -> None:
    """Python drops an exception that comes up inside its own hooks, at a fork for one: so it is said again."""
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    raise SystemExit(128 + signal.SIGTERM)


if __name__ == "__main__":
    sys.exit(main())
