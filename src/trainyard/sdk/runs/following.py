"""One log as it grows, asked for by offset, so that nothing is fetched twice, and a service that was killed and is back
goes on where it was."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

from trainyard.client.runs import Runs
from trainyard.contract.errors import ServiceUnavailable, TrainyardError
from trainyard.contract.states import TERMINAL
from trainyard.sdk.errors import AzureMLException, ServiceException, code_of

DONE = None  # after the last chunk
_AWAY_AT_MOST_S = 600.0


class Away:
    """How long the service has been unreachable; everything else is raised."""

    def __init__(self) -> None:
        self._since: float | None = None

    def back(self) -> None:
        self._since = None

    def endure(self, error: Exception) -> None:
        if isinstance(error, AzureMLException) and code_of(error) != ServiceUnavailable.code:
            raise error
        if isinstance(error, TrainyardError) and not isinstance(error, ServiceUnavailable):
            raise error
        now = time.monotonic()
        self._since = self._since or now
        if now - self._since > _AWAY_AT_MOST_S:
            raise error
        time.sleep(min(2.0, 0.05 + (now - self._since) / 4))


def followed(runs: Runs, run_id: str, name: str, stopped: threading.Event) -> Iterator[bytes]:
    """Its bytes as they are written, until the run is over or `stopped`."""
    away = Away()
    offset = 0
    while not stopped.is_set():
        try:
            for data in runs.follow_log(run_id, name, offset):
                if stopped.is_set():
                    return
                offset += len(data)
                yield data
            record = runs.get(run_id)
            away.back()
        except (ServiceException, TrainyardError, OSError, _http_exception()) as error:
            away.endure(error)
            continue
        if record.state in TERMINAL:
            # the end of the stream and of the run were two looks: what came between them is read now
            yield runs.read_log(run_id, name, offset)
            return


def _http_exception() -> type[Exception]:
    import http.client

    return http.client.HTTPException
