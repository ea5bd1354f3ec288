"""Environments: one that is built already, one from a lock on a warm cache, one from a new wish, and ten who ask at
once, beside uv alone."""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from measure import Row, show, side_by_side

from trainyard.contract.runs import EnvironmentSpec
from trainyard.environments.build import build, write_request
from trainyard.environments.options import for_uv, of_machine
from trainyard.environments.plan import Planner
from trainyard.environments.request import Request
from trainyard.environments.uv import find_program

PACKAGES = ["scikit-learn", "pandas", "requests"]
ROUNDS = 9

_tidying: list[subprocess.Popen[str]] = []


def main() -> None:
    root = tempfile.mkdtemp(prefix="yard-")
    try:
        planner = Planner(os.path.join(root, "home"), os.environ)
        spec = EnvironmentSpec("bench", definition=_definition(PACKAGES))
        request = planner.plan(spec)
        assert request is not None
        _built(planner, request)  # fills uv's cache
        found = planner.store.find(request.key)
        assert found is not None
        lock = os.path.join(root, "lock")
        with open(lock, "w", encoding="utf-8") as file:
            file.write(found.lock)
        rows = [
            _there_already(planner, spec),
            _from_lock(planner, request, found.lock, lock, root),
            _from_wish(planner, request, root),
            _ten_at_once(planner, request),
        ]
        show(f"environments ({', '.join(PACKAGES)})", rows)
    finally:
        shutil.rmtree(root, ignore_errors=True)


def _definition(packages: list[str]) -> dict[str, object]:
    return {"name": "bench", "python": {"condaDependencies": {"dependencies": [{"pip": packages}]}}}


def _there_already(planner: Planner, spec: EnvironmentSpec) -> Row:
    """All that the service does for a run whose environment is there: read the wish, name it, find it."""

    def look() -> None:
        request = planner.plan(spec)
        assert request is not None
        assert planner.store.find(request.key) is not None
        planner.store.touch(request.key)

    [ours] = side_by_side(50, look)
    return Row("already built", statistics.median(ours) * 1e3, unit="ms", budget=5)


def _from_lock(planner: Planner, request: Request, text: str, path: str, root: str) -> Row:
    """A builder process that installs a lock, against the two commands of uv that do the same."""
    locked = Request(**{**vars(request), "lock": text})

    folder = os.path.join(root, "bare")
    [mine, bare] = side_by_side(
        ROUNDS,
        lambda: _process(planner, locked),
        lambda: _uv_alone(request, path, folder, resolve=False),
        before=lambda: _clear(planner, request, folder),
    )
    base = statistics.median(bare) * 1e3
    return Row("from a lock, warm cache", statistics.median(mine) * 1e3, base, unit="ms", budget=base * 1.1, over="uv")


def _from_wish(planner: Planner, request: Request, root: str) -> Row:
    """A new wish on a warm cache: resolved, then installed."""
    wish = os.path.join(root, "wish")
    with open(wish, "w", encoding="utf-8") as file:
        file.write("\n".join(PACKAGES))

    folder = os.path.join(root, "bare")
    [mine, bare] = side_by_side(
        ROUNDS,
        lambda: _process(planner, request),
        lambda: _uv_alone(request, wish, folder, resolve=True),
        before=lambda: _clear(planner, request, folder),
    )
    return Row("a new wish, warm cache", statistics.median(mine) * 1e3, statistics.median(bare) * 1e3, "ms", over="uv")


def _ten_at_once(planner: Planner, request: Request) -> Row:
    _clear(planner, request, "")
    write_request(planner.store, request)
    begun = time.perf_counter()
    asking = [_start(planner, request) for _ in range(10)]
    said = [process.communicate()[0] for process in asking]
    took = (time.perf_counter() - begun) * 1e3
    assert sum("Building environment" in text for text in said) == 1, "one build"
    _clear(planner, request, "")
    begun = time.perf_counter()
    _process(planner, request)
    one = (time.perf_counter() - begun) * 1e3
    _clear(planner, request, "")
    return Row("ten ask at once: one build", took, one, unit="ms", over="one asks")


def _built(planner: Planner, request: Request) -> None:
    with contextlib.redirect_stdout(io.StringIO()) as said:
        code = build(planner.store, request, os.environ)
    assert code == 0, said.getvalue()


def _clear(planner: Planner, request: Request, folder: str) -> None:
    while _tidying:
        _tidying.pop().communicate()
    planner.store.remove(request.key)
    shutil.rmtree(folder, ignore_errors=True)


def _process(planner: Planner, request: Request) -> None:
    """Until it can be used, which is what a run waits for; what its builder tidies up afterwards is not."""
    write_request(planner.store, request)
    process = _start(planner, request)
    while planner.store.find(request.key) is None:
        assert process.poll() in (None, 0), process.communicate()[0]
        time.sleep(0.002)
    _tidying.append(process)


def _start(planner: Planner, request: Request) -> subprocess.Popen[str]:
    argv = [sys.executable, "-m", "trainyard.environments.build", "--key", request.key]
    argv += ["--home", os.path.dirname(planner.store.root)]
    return subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def _uv_alone(request: Request, wish: str, folder: str, *, resolve: bool) -> None:
    assert request.interpreter is not None
    variables = {**os.environ, **for_uv(of_machine(os.environ)), "UV_NO_CONFIG": "1"}
    python = os.path.join(folder, "bin", "python")
    lock = wish + ".resolved" if resolve else wish
    base = request.interpreter.path
    commands = [["venv", "--quiet", "--python", base, folder], ["pip", "sync", "--quiet", "--python", python, lock]]
    if resolve:
        commands.insert(0, ["pip", "compile", "--quiet", "--generate-hashes", "--python", base, wish, "-o", lock])
    for command in commands:
        subprocess.run([find_program(), *command], env=variables, check=True, capture_output=True)


if __name__ == "__main__":
    main()
