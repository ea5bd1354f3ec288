"""Which environment a run gets, and what has to be built for it. Plans touch nothing but a memory of interpreters."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from trainyard.contract.errors import EnvironmentRefused
from trainyard.contract.runs import EnvironmentSpec
from trainyard.environments import container, pythons
from trainyard.environments.fingerprint import Machine, fingerprint
from trainyard.environments.locks import Lock
from trainyard.environments.machine import has_gpu
from trainyard.environments.request import BUILD_DEADLINE_S, Interpreter, Request, platform
from trainyard.environments.specification import Wanted, parse
from trainyard.environments.store import Store
from trainyard.environments.uv import find_program

_REMEMBER_S = 60.0


class Planner:
    """Knows this machine. What it asked of it is remembered for a while: a plan then costs less than a millisecond."""

    def __init__(self, home: str, variables: Mapping[str, str]) -> None:
        self.store = Store(home)
        self._variables = variables
        self._installed: list[Interpreter] = []
        self._asked_at = float("-inf")
        self._engine: container.Engine | None = None
        self._engine_at = float("-inf")
        self._deadline_s = int(variables.get("TRAINYARD_BUILD_DEADLINE") or BUILD_DEADLINE_S)
        self._answer_s = int(variables.get("TRAINYARD_INDEX_TIMEOUT") or 30)

    def plan(
        self, spec: EnvironmentSpec, *, relax: bool = False, read_lock: Callable[[str], bytes] | None = None
    ) -> Request | None:
        """None: there is nothing to build (the user's own interpreter, or a bare one). EnvironmentRefused says what is
        wrong with the definition. `read_lock` gives the text of a lock by its digest."""
        if spec.user_managed:
            container.wish_of(spec.definition)
            return None
        wanted = parse(spec.definition, relax=relax)
        if self.contains(spec):
            return None  # its image has it
        lock = None
        if digest := spec.lock or wanted.lock:
            if read_lock is None:
                raise EnvironmentRefused("The environment's lock cannot be read here. Submit it without the lock.")
            lock = read_lock(digest).decode("utf-8")
            wanted = replace(wanted, lock=digest)
        if wanted.empty:
            return None
        request = self._request(spec.name, wanted, lock)
        return replace(request, key=spec.fingerprint) if spec.fingerprint else request

    def notes(self, spec: EnvironmentSpec) -> tuple[str, ...]:
        """What a run is to be told about its container."""
        wanted = container.wish_of(spec.definition) is not None
        return (container.NO_ENGINE,) if wanted and not self.contains(spec) else ()

    def contains(self, spec: EnvironmentSpec) -> bool:
        """Whether it runs in a container on this machine."""
        if container.wish_of(spec.definition) is None:
            return False
        if time.monotonic() - self._engine_at > _REMEMBER_S:
            self._engine = container.find_engine(self._variables)
            self._engine_at = time.monotonic()
        return self._engine is not None

    def _request(self, name: str, wanted: Wanted, lock: str | None) -> Request:
        choice = self._choose(wanted, lock)
        gpu = has_gpu()
        version = choice.interpreter.version if choice else "conda"
        log = list(choice.log) if choice else []
        if wanted.dropped:
            log.append(f"Not installed, because every job has them: {', '.join(wanted.dropped)}.")
        return Request(
            key=fingerprint(wanted, Machine(platform(), version, gpu)),
            name=name,
            wanted=wanted,
            interpreter=choice.interpreter if choice else None,
            notes=choice.notes if choice else (),
            log=tuple(log),
            gpu=gpu,
            lock=lock,
            deadline_s=self._deadline_s,
            answer_s=self._answer_s,
            pythons=() if choice else self._versions(),
            uv=find_program(),
        )

    def _choose(self, wanted: Wanted, lock: str | None) -> pythons.Choice | None:
        if lock is not None:
            locked = Lock.parse(lock)
            if locked.conda:
                return None
            minor = ".".join(locked.python.split(".")[:2])
            wanted = Wanted(python=f"=={minor}.*")
        choice = pythons.choose(wanted, self._interpreters())
        if choice is None and not wanted.conda and not wanted.channels:
            raise no_python(wanted, self._versions())
        return choice

    def _versions(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(it.version for it in self._interpreters()))

    def _interpreters(self) -> list[Interpreter]:
        if time.monotonic() - self._asked_at > _REMEMBER_S:
            self._installed = pythons.installed(self._variables, self.store.pythons)
            self._asked_at = time.monotonic()
        return self._installed


def no_python(wanted: Wanted, versions: Sequence[str]) -> EnvironmentRefused:
    return EnvironmentRefused(
        f"No Python that is {wanted.python} on the service's machine, and no conda channel brings it (Python there is: "
        f"{', '.join(versions)}). Name one of these, install it, or take the nearest: set TRAINYARD_RELAX_PINS=1 or "
        "environment.python.relax_pins = True."
    )
