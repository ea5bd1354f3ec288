"""What every error of ours is: a sentence, a stable code, and details that travel. The tree of them is in errors.py."""

from __future__ import annotations

from typing import Any, ClassVar


class TrainyardError(Exception):
    """Root of the tree. `details` is JSON and travels with the message."""

    code: ClassVar[str] = "internal"
    by_code: ClassVar[dict[str, type[TrainyardError]]] = {}

    def __init__(self, message: str, **details: Any) -> None:
        super().__init__(message)
        self.message = message
        self.details = details

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        TrainyardError.by_code[cls.code] = cls

    def to_json(self) -> dict[str, Any]:
        return {"code": self.code, "message": self.message, "details": self.details}

    @staticmethod
    def from_json(body: dict[str, Any]) -> TrainyardError:
        """The error a peer sent; a code we do not know becomes the root."""
        kind = TrainyardError.by_code.get(str(body.get("code")), TrainyardError)
        error = kind.__new__(kind)
        TrainyardError.__init__(error, str(body.get("message", "unknown error")), **(body.get("details") or {}))
        return error
