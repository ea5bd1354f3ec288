"""What a worker holds after init(): something that turns requests into answers."""

from __future__ import annotations

import json
from typing import Any

from trainyard.scoring.wire import Answer, Assignment, Request


class Refused(Exception):
    """A request that cannot be scored, and why. The client's doing, so nothing is logged but the request."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


class CannotLoad(Exception):
    """A deployment that cannot start: the sentence is the whole story, a traceback of ours would only hide it."""


class Scorer:
    raw = False  # the front sends all headers, not just the content type
    batches = False  # score_many() is quicker than score() one after the other

    def __init__(self, assignment: Assignment) -> None:
        self.assignment = assignment

    def load(self) -> None:
        """Everything that is done once, before the first request."""
        raise NotImplementedError

    def score(self, request: Request) -> Answer:
        raise NotImplementedError

    def score_many(self, requests: list[Request]) -> list[Answer]:
        """One answer for each, in order; an answer of its own for each that fails."""
        return [self.score(request) for request in requests]

    def swagger(self) -> dict[str, Any]:
        """OpenAPI documents by version: "2" and "3"."""
        return {}

    def signatures(self) -> dict[str, Any]:
        """Ways to call the model, by name, as TensorFlow Serving tells of them."""
        return {}

    def error(self, status: int, message: str, *, run_failed: bool = False) -> Answer:
        """An error in the words of this kind of service."""
        headers = [("content-type", "application/json")]
        if run_failed:
            headers.append(("x-ms-run-function-failed", "True"))
        return Answer(json.dumps({"message": message}).encode(), status, tuple(headers))
