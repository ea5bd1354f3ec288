"""Starts builder processes, joins those that run already, and says how they ended."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field

from trainyard.contract.attempts import ATTEMPT_VARIABLE, JOB_CONTEXT_VARIABLE
from trainyard.contract.errors import EnvironmentRefused, TrainyardError
from trainyard.environments.build import write_request
from trainyard.environments.request import Request
from trainyard.environments.store import Built, Store

_MOST_STARTS = 3  # a builder that was killed this often is not started again
_GRACE_S = 3.0


@dataclass
class Builder:
    """One build, by our own process or by one that somebody else started."""

    store: Store
    request: Request
    variables: Mapping[str, str]
    process: subprocess.Popen[bytes] | None = None
    starts: int = 0
    outcome: Built | TrainyardError | None = field(default=None)

    def begin(self) -> None:
        """Start it, unless one is at work on this key: then that one is joined."""
        if self.store.is_building(self.request.key):
            return
        afresh = self.starts == 0
        self.starts += 1
        write_request(self.store, self.request)
        for kind in ("failed", "log") if afresh else ("failed",):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self.store.state(self.request.key, kind))
        marks = (ATTEMPT_VARIABLE, JOB_CONTEXT_VARIABLE)
        with open(self.store.state(self.request.key, "log"), "ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "trainyard.environments.build", "--home", self._home, "--key", self.request.key],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,  # it outlives us: who comes back finds it at work
                cwd="/",
                env={name: value for name, value in self.variables.items() if name not in marks},
            )
        # it may still tidy up when we have gone on; somebody has to take its status
        threading.Thread(target=self.process.wait, name="builder-status", daemon=True).start()

    def poll(self) -> Built | TrainyardError | None:
        """None: it is at work. One that was killed is started again."""
        if self.outcome is None:
            self.outcome = self.store.find(self.request.key)  # there: its builder only tidies up
        if self.outcome is None and not self._at_work():
            built, failure = self.store.find(self.request.key), self.store.failure(self.request.key)
            if built is not None:
                self.outcome = built
            elif failure is not None:
                self.outcome = failure.error
            elif self.starts < _MOST_STARTS:
                self.begin()
            else:
                self.outcome = EnvironmentRefused(
                    f"The builder of environment {self.request.name} was killed {self.starts} times. Look for what "
                    "ends processes on the service's machine (memory?), then submit again."
                )
        return self.outcome

    def stop(self) -> None:
        """Nobody wants it any more. What it has made so far goes with it; one that has ended is left alone."""
        if self.outcome is not None:
            return
        pid = self.process.pid if self.process is not None else self.store.builder(self.request.key)
        if pid is None or (self.process is not None and self.process.poll() is not None):
            return
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
        if self.process is not None:
            try:
                self.process.wait(_GRACE_S)
            except subprocess.TimeoutExpired:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(pid, signal.SIGKILL)
                self.process.wait()
            if self.store.find(self.request.key) is None:
                self.store.remove(self.request.key)

    def _at_work(self) -> bool:
        if self.process is not None and self.process.poll() is None:
            return True
        return self.store.is_building(self.request.key)

    @property
    def _home(self) -> str:
        return os.path.dirname(self.store.root)
