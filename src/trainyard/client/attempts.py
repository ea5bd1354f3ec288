"""What an agent says to the service."""

from __future__ import annotations

from trainyard.client.http import Http
from trainyard.contract.attempts import Arrival, Orders, ReportAnswer
from trainyard.contract.codec import from_json
from trainyard.contract.frames import Frame, encode


class Attempts:
    def __init__(self, http: Http, attempt_id: str) -> None:
        self._http = http
        self._path = f"/attempts/{attempt_id}"

    def arrive(self, arrival: Arrival) -> Orders:
        """Report in. Waits up to a few seconds for the other nodes; `go` False means: ask again."""
        return self._http.post(Orders, f"{self._path}/arrive", arrival)

    def report(self, node: int, frames: list[Frame]) -> ReportAnswer:
        """Ship streams and news; without frames, a heartbeat."""
        import json

        answer = self._http.send("POST", f"{self._path}/nodes/{node}/report", encode(frames))
        return from_json(ReportAnswer, json.loads(answer))
