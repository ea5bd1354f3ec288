"""The interpreter of an environment on a node: the user's own, a built one, or a bare one with nothing installed."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from trainyard.contract.errors import EnvironmentRefused, TrainyardError
from trainyard.contract.locks import locked
from trainyard.contract.runs import EnvironmentSpec
from trainyard.environments.builders import Builder
from trainyard.environments.plan import Planner
from trainyard.environments.pythons import ours
from trainyard.environments.request import Request
from trainyard.environments.store import Built, Store
from trainyard.environments.venv import lay

_LOOK_S = 0.05


@dataclass(frozen=True)
class Realized:
    """An environment on this node. Nobody removes it while `hold` is open, which is until this process ends."""

    interpreter: str
    variables: dict[str, str] = field(default_factory=dict)  # what its processes need beside the user's own
    hold: int | None = None


def realize(
    spec: EnvironmentSpec,
    home: str,
    path: str,
    log: Callable[[str], None],
    *,
    relax: bool = False,
    variables: Mapping[str, str] | None = None,
    read_lock: Callable[[str], bytes] | None = None,
) -> Realized:
    """`home` holds what is built; `path` is the PATH that programs are searched on; `variables` are what a builder is
    started with, should the service have built it elsewhere (or it was removed since)."""
    if spec.user_managed:
        interpreter = _users_own(spec.interpreter or "python", path)
        log(f"Environment {spec.name} is user-managed: using {interpreter}.")
        return Realized(interpreter)
    planner = Planner(home, variables or {"PATH": path})
    if spec.fingerprint is not None:
        hold = planner.store.hold(spec.fingerprint)
        if (built := planner.store.find(spec.fingerprint)) is not None:
            return _built(spec, built, hold, log)
        os.close(hold)
    request = planner.plan(spec, relax=relax, read_lock=read_lock)
    if request is None:
        interpreter = _bare(home)
        log(f"Environment {spec.name}: bare Python {_version()} at {interpreter}.")
        return Realized(interpreter)
    log(f"Environment {spec.name} is not on this node: building it.")
    hold = planner.store.hold(request.key)  # before the build: nobody removes it in between
    return _built(spec, _build(planner.store, request, variables or {"PATH": path}, log), hold, log)


def warm(home: str) -> None:
    """Do once, before forking, what the first look at an environment does: imports, and finding programs."""
    packages = {"dependencies": ["python=3.8", {"pip": ["azureml-defaults"]}]}
    spec = EnvironmentSpec(definition={"python": {"condaDependencies": packages}})
    with contextlib.suppress(TrainyardError, OSError):
        Planner(home, {"PATH": os.defpath}).plan(spec)


def _built(spec: EnvironmentSpec, built: Built, hold: int, log: Callable[[str], None]) -> Realized:
    log(f"Environment {spec.name}: Python {built.python} at {built.interpreter}.")
    return Realized(built.interpreter, built.variables, hold)


def _build(store: Store, request: Request, variables: Mapping[str, str], log: Callable[[str], None]) -> Built:
    """The builder's lines go to `log` as they come. Whatever ends us ends it."""
    builder = Builder(store, request, variables)
    builder.begin()
    shown = 0
    try:
        while True:
            outcome = builder.poll()
            *lines, _ = store.read_log(request.key, shown).split(b"\n")
            for line in lines:
                log(line.decode("utf-8", "replace"))
            shown += sum(len(line) + 1 for line in lines)
            if isinstance(outcome, TrainyardError):
                raise outcome
            if outcome is not None:
                return outcome
            time.sleep(_LOOK_S)
    finally:
        builder.stop()


def _users_own(name: str, path: str) -> str:
    if os.sep in name:
        name = os.path.abspath(os.path.expanduser(name))
        if not os.path.exists(name):
            raise EnvironmentRefused(
                f"The environment's interpreter {name} does not exist on this node. Set "
                "environment.python.interpreter_path to a Python that is there."
            )
        if not os.path.isfile(name) or not os.access(name, os.X_OK):
            raise EnvironmentRefused(
                f"The environment's interpreter {name} is not executable. Run `chmod +x {name}`, or set "
                "environment.python.interpreter_path to another Python."
            )
        return name
    found = shutil.which(name, path=path) or (shutil.which("python3", path=path) if name == "python" else None)
    if found is None:
        raise EnvironmentRefused(
            f"No program {name!r} on the job's PATH ({path or 'empty'}). Set environment.python.interpreter_path to "
            "the whole path of a Python."
        )
    return os.path.abspath(found)


def _bare(home: str) -> str:
    """A virtual environment without packages, made once per home and Python version: aside, and renamed."""
    folder = os.path.join(home, "environments", f"bare-{_version()}")
    interpreter = os.path.join(folder, "bin", "python")
    if os.access(interpreter, os.X_OK):
        return interpreter
    os.makedirs(os.path.dirname(folder), mode=0o700, exist_ok=True)
    with locked(folder + ".lock"):
        if not os.access(interpreter, os.X_OK):
            shutil.rmtree(folder, ignore_errors=True)  # its Python has been moved or removed since
            aside = tempfile.mkdtemp(prefix=".bare-", dir=os.path.dirname(folder))
            lay(aside, ours())
            os.rename(aside, folder)
    return interpreter


def _version() -> str:
    return f"{sys.version_info[0]}.{sys.version_info[1]}"
