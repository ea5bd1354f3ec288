"""The service itself: what it is doing, and its end."""

from __future__ import annotations

from trainyard.client.http import Http
from trainyard.contract.service import ServiceStatus


class Service:
    def __init__(self, http: Http) -> None:
        self._http = http

    def status(self) -> ServiceStatus:
        return self._http.get(ServiceStatus, "/status")

    def stop(self, *, everything: bool = False) -> None:
        """End it. Refused (StillRunning) while runs are active, unless `everything`: then they are canceled first."""
        self._http.json("POST", "/stop", query={"everything": int(everything)})
