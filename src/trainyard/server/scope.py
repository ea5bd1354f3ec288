"""Whose rows a feature writes for a run, without knowing the runs' own table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Scope:
    """One run as the other features see it: its integer key, its workspace and who made it."""

    run_key: int
    workspace_id: str
    created_by: str

    def owner(self) -> dict[str, Any]:
        """What `db.owned()`'s columns hold in rows of this run."""
        return {"workspace_id": self.workspace_id, "created_by": self.created_by}
