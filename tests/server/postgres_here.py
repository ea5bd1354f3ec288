"""A PostgreSQL of the tests' own, from the programs that the package pgserver brings: no port, gone with the tests."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

_READY_S = 30.0
_QUICK = ("fsync=off", "synchronous_commit=off", "full_page_writes=off", "listen_addresses=")


@contextlib.contextmanager
def postgres() -> Iterator[str]:
    """Its address. The tests are skipped where pgserver is not to be had."""
    pytest.importorskip("psycopg")
    if (found := importlib.util.find_spec("pgserver")) is None or found.origin is None:
        pytest.skip("pgserver is not here: pip install pgserver, or set TRAINYARD_TEST_DATABASE")
    folder = tempfile.mkdtemp(prefix="trainyard-pg-")  # short: a socket's path is at most 107 bytes
    try:
        programs = os.path.join(os.path.dirname(found.origin), "pginstall")
        user = None
        if os.getuid() == 0:  # PostgreSQL refuses root, and who is not root may not see our interpreter's folder
            user = pwd.getpwnam("nobody")
            for part in ("pgserver/pginstall", "pgserver.libs"):  # they find each other by where they are
                beside = os.path.join(os.path.dirname(found.origin), os.pardir, part)
                if os.path.isdir(beside):
                    shutil.copytree(beside, os.path.join(folder, part), symlinks=True)
            programs = os.path.join(folder, "pgserver", "pginstall")
            os.chown(folder, user.pw_uid, user.pw_gid)
        with _running(programs, folder, None if user is None else user.pw_uid):
            yield f"postgresql+psycopg://trainyard@/postgres?host={folder}"
    finally:
        shutil.rmtree(folder)


@contextlib.contextmanager
def _running(programs: str, folder: str, user: int | None) -> Iterator[None]:
    data, log = os.path.join(folder, "data"), Path(folder, "log")
    initdb = [f"{programs}/bin/initdb", "-D", data, "-U", "trainyard", "-A", "trust", "-E", "UTF8", "--no-sync"]
    subprocess.run(initdb, check=True, user=user, cwd=folder, stdout=subprocess.DEVNULL)
    settings = [part for setting in _QUICK for part in ("-c", setting)]
    with log.open("wb") as out:
        command = [f"{programs}/bin/postgres", "-D", data, "-k", folder, *settings]
        server = subprocess.Popen(command, user=user, cwd=folder, stdout=out, stderr=out)
    try:
        ends = time.monotonic() + _READY_S
        while "ready to accept connections" not in log.read_text():
            assert server.poll() is None, log.read_text()
            assert time.monotonic() < ends, log.read_text()
            time.sleep(0.02)
        yield
    finally:
        server.send_signal(signal.SIGQUIT)  # at once: nothing in it is to be kept
        server.wait(30)
