"""An index that wants a name and a password: they are handed on, and seen nowhere."""

from __future__ import annotations

import base64
import http.server
import os
import shlex
import subprocess
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from goods import definition

from trainyard.contract.runs import EnvironmentSpec
from trainyard.environments.plan import Planner
from trainyard.environments.request import Request
from trainyard.environments.store import Built
from trainyard.environments.uv import find_program

Make = Callable[[Request], Built]
Refused = Callable[[Request], str]

WHO = "ada:hush-hush"


@pytest.fixture
def index(wheels: Path) -> Iterator[str]:
    """Its address below WHO's name."""

    class Index(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.headers.get("Authorization") != "Basic " + base64.b64encode(WHO.encode()).decode():
                self._answer(401, b"")
                return
            name = self.path.rstrip("/").rpartition("/")[2]
            if (wheels / name).is_file():
                self._answer(200, (wheels / name).read_bytes())
                return
            links = "".join(f"<a href='/{path.name}'>{path.name}</a>" for path in sorted(wheels.glob(f"{name}-*.whl")))
            self._answer(200 if links else 404, links.encode())

        def _answer(self, code: int, body: bytes) -> None:
            self.send_response(code)
            self.send_header("Content-Type", "application/octet-stream" if self.path.endswith(".whl") else "text/html")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_HEAD = do_GET  # noqa: N815 - the name that http.server calls

        def log_message(self, format: str, *args: object) -> None:
            """Quiet."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Index) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        yield f"http://{WHO}@127.0.0.1:{server.server_address[1]}"
        server.shutdown()


@pytest.fixture
def plan(planner: Planner) -> Callable[..., Request]:
    def request(*lines: str, read_lock: Callable[[str], bytes] | None = None, **python: str) -> Request:
        spec = EnvironmentSpec("private", definition=definition(lines, **python))
        made = planner.plan(spec, read_lock=read_lock)
        assert made is not None
        return made

    return request


def everything_below(folder: str) -> bytes:
    found = [os.path.join(at, name) for at, _, names in os.walk(folder) for name in names]
    return b"".join(Path(path).read_bytes() for path in found if os.path.isfile(path) and not os.path.islink(path))


def test_credentials_reach_the_index_and_nothing_that_stays(
    plan: Callable[..., Request], built: Make, planner: Planner, index: str, wheels: Path, tmp_path: Path
) -> None:
    (wheels / "limits.txt").write_text("apple<2\n")
    seen = tmp_path / "seen"
    program = tmp_path / "uv"
    program.write_text(f'#!/bin/sh\necho "$@" >> {seen}\nexec {shlex.quote(find_program())} "$@"\n')
    program.chmod(0o755)
    lines = [f"--index-url {index}/simple", f"--constraint {index}/limits.txt", "apple"]
    made = built(replace(plan(*lines), uv=str(program)))
    assert "apple==1.4" in made.lock
    assert "--constraint" not in seen.read_text()
    assert "hush-hush" not in seen.read_text()
    assert b"hush-hush" not in everything_below(planner.store.root)


def test_a_lock_without_credentials_is_installed_with_those_of_the_definition(
    plan: Callable[..., Request], built: Make, planner: Planner, index: str
) -> None:
    line = f"apple @ {index}/apple-1.0-py3-none-any.whl"
    first = built(plan(line))
    assert "apple @ http://****@127.0.0.1" in first.lock
    again = plan(line, lock="0" * 64, read_lock=lambda _digest: first.lock.encode())
    assert again.key != first.key
    code = "import apple; print(apple.__version__)"
    argv = [built(again).interpreter, "-I", "-c", code]
    assert subprocess.run(argv, capture_output=True, text=True, check=True).stdout == "1.0\n"
    assert b"hush-hush" not in everything_below(planner.store.root)


def test_an_index_that_refuses_them_is_named(plan: Callable[..., Request], refused: Refused, index: str) -> None:
    said = refused(plan(f"--index-url {index.replace('hush-hush', 'shout')}/simple", "apple"))
    bare = index.replace(f"{WHO}@", "")
    assert f"The index {bare}/simple refuses the credentials in its address (401 Unauthorized): correct them." in said
    assert "shout" not in said
