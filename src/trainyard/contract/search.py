"""Looking for runs: what is asked and what is answered. docs/search.md has the language of `query`."""

from __future__ import annotations

from dataclasses import dataclass, field

from trainyard.contract.metrics import MetricSummary
from trainyard.contract.runs import RunRecord


@dataclass(frozen=True)
class RunSearch:
    query: str = ""  # such as: metrics.loss < 0.1 and tags.team = "vision"; all runs without one
    experiments: tuple[str, ...] = ()  # only of these; of all without any
    order_by: tuple[str, ...] = ()  # such as: metrics.loss.min asc; the newest first without any
    limit: int = 50
    page: str | None = None  # `next` of the page before
    metrics: tuple[str, ...] | None = ()  # which summaries come along, besides those asked about; None: all
    archived: str = "no"  # no, only, all


@dataclass(frozen=True)
class FoundRun:
    run: RunRecord
    params: dict[str, str] = field(default_factory=dict)
    metrics: tuple[MetricSummary, ...] = ()


@dataclass(frozen=True)
class SearchPage:
    runs: tuple[FoundRun, ...]
    next: str | None = None  # None: this is the last page


@dataclass(frozen=True)
class RunParam:
    name: str
    value: str
    source: str  # argument, logged, hyperparameter
