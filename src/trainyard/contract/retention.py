"""What is deleted for good, and what that would be."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class What(StrEnum):
    RUNS = "runs"  # the runs with all they have
    ATTEMPTS = "attempts"  # what is left of a run's attempts before its last


@dataclass(frozen=True)
class Deletion:
    """Which runs: at least one of `run_ids`, `experiment` and `query`. Only ones that ended, with all below them."""

    run_ids: tuple[str, ...] = ()
    experiment: str | None = None
    query: str | None = None
    older_than_s: int = 0  # since they ended
    what: What = What.RUNS
    dry_run: bool = True


@dataclass(frozen=True)
class Deleted:
    """What was deleted, or (dry run) would be."""

    dry_run: bool
    what: What
    run_ids: tuple[str, ...] = ()
    metrics: int = 0
    files: int = 0
    file_bytes: int = 0  # as they are named; content that others name too stays
    log_bytes: int = 0
    attempts: int = 0
    rule: str | None = None


@dataclass(frozen=True)
class Rule:
    """Kept by the service: applied every hour, and when somebody asks."""

    name: str
    query: str = ""
    older_than_s: int = 0
    what: What = What.RUNS


@dataclass(frozen=True)
class Swept:
    """Content that nothing names. It is put aside first, and gone for good a day later unless somebody needs it."""

    dry_run: bool
    kept: int = 0
    aside: int = 0  # put aside now
    aside_bytes: int = 0
    gone: int = 0  # put aside earlier, deleted now
    gone_bytes: int = 0
