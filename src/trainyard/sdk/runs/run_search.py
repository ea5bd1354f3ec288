"""Looking for runs by what they are, were given and measured."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from trainyard.contract.search import RunSearch

if TYPE_CHECKING:
    from trainyard.sdk.runs.run import Run
    from trainyard.sdk.workspace import Workspace

_PAGE = 200


def search_runs(
    workspace: Workspace,
    query: str = "",
    order_by: str | Iterable[str] = (),
    experiments: str | Iterable[str] = (),
    max_results: int | None = None,
) -> Iterator[Run]:
    """Runs that a query such as `metrics.loss < 0.1 and tags.team = "vision"` finds, children too: the newest first, or
    as `order_by` says (`metrics.loss.min asc`). docs/search.md has the language."""
    from trainyard.sdk.experiment import Experiment
    from trainyard.sdk.runs.run import Run

    limit = _PAGE if max_results is None else min(_PAGE, max(1, max_results))
    asked = RunSearch(query, _texts(experiments), _texts(order_by), limit)
    known: dict[str, Any] = {}
    for number, found in enumerate(workspace._clients.runs.search_all(asked)):
        if max_results is not None and number >= max_results:
            return
        name = found.run.experiment
        known[name] = known.get(name) or Experiment(workspace, name)
        yield Run._of(known[name], found.run)


def _texts(given: str | Iterable[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(map(str, given))
