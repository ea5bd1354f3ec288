"""A service as its operator sees it: where it is, how it is, its end, and the doors to its areas. The command line
stands on this; what a training script holds is in the other modules of this room."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from trainyard.client.computes import Computes
from trainyard.client.data import Data
from trainyard.client.home import Home
from trainyard.client.http import Http
from trainyard.client.models import Models
from trainyard.client.retention import Retention
from trainyard.client.runs import Runs
from trainyard.client.service import Service
from trainyard.client.sweeps import Sweeps
from trainyard.client.workspaces import Experiments, Workspaces
from trainyard.contract.errors import ServiceUnavailable, TrainyardError
from trainyard.contract.runs import WorkspaceRecord
from trainyard.contract.service import ServiceStatus

if TYPE_CHECKING:
    from trainyard.sdk.workspace import Workspace

__all__ = ["Computes", "Experiments", "Home", "Runs", "ServiceStatus", "Sweeps", "Workspaces", "Yard"]


@dataclass(frozen=True)
class Yard:
    """One service: the embedded one of `home`, or the one at `endpoint` (then `home` is None)."""

    http: Http
    home: Home | None
    endpoint: str | None

    @staticmethod
    def from_env(variables: Mapping[str, str], endpoint: str | None = None, *, start: bool = True) -> Yard:
        """The service that TRAINYARD_ENDPOINT, `endpoint` or the embedded home means; `start` False leaves an embedded
        service that does not run alone."""
        endpoint = variables.get("TRAINYARD_ENDPOINT") or endpoint
        if endpoint:
            return Yard(Http(endpoint, variables.get("TRAINYARD_TOKEN"), None), None, endpoint)
        home = Home.default(dict(variables))
        return Yard(Http(None, None, home, start=start), home, None)

    @property
    def where(self) -> str:
        """The address or folder, in words for people."""
        return self.endpoint or (self.home.path if self.home else "")

    def runs_now(self) -> bool:
        """Whether there is a service to talk to without starting one. A remote one is taken to be there."""
        return self.home is None or self.home.running() is not None

    def status(self) -> ServiceStatus | None:
        """None when no service runs; nothing is started."""
        try:
            return Service(self.http).status() if self.runs_now() else None
        except ServiceUnavailable:
            if self.home is not None and self.home.running() is None:
                return None  # it stopped between the two looks
            raise

    def stop(self, *, everything: bool = False) -> bool:
        """End the service and wait until it is gone. False when none ran."""
        if not self.runs_now():
            return False
        try:
            Service(self.http).stop(everything=everything)
        except ServiceUnavailable:
            if self.runs_now():
                raise
        if self.home is not None:
            _wait_until_gone(self.home)
        return True

    def open(self, record: WorkspaceRecord) -> Workspace:
        """The workspace as a script would hold it."""
        from trainyard.sdk.connection import connect
        from trainyard.sdk.workspace import Workspace

        return Workspace._of(connect(self.endpoint), record)

    @property
    def workspaces(self) -> Workspaces:
        return Workspaces(self.http)

    def experiments(self, workspace_id: str) -> Experiments:
        return Experiments(self.http, workspace_id)

    def runs(self, workspace_id: str) -> Runs:
        return Runs(self.http, workspace_id)

    def data(self, workspace_id: str) -> Data:
        return Data(self.http, workspace_id)

    def models(self, workspace_id: str) -> Models:
        return Models(self.http, workspace_id)

    def sweeps(self, workspace_id: str) -> Sweeps:
        return Sweeps(self.http, workspace_id)

    def retention(self, workspace_id: str) -> Retention:
        return Retention(self.http, workspace_id)

    def computes(self, workspace_id: str) -> Computes:
        return Computes(self.http, workspace_id)


STOP_DEADLINE_S = 60.0


def _wait_until_gone(home: Home) -> None:
    import time

    deadline = time.monotonic() + STOP_DEADLINE_S
    while home.locked():
        if time.monotonic() > deadline:
            raise TrainyardError(
                f"The service of {home.path} was asked to stop and still runs after {STOP_DEADLINE_S:.0f} s. "
                f"See the end of {home.file('service.log')}, or end its process by hand."
            )
        time.sleep(0.02)
