"""What a workspace says about its runs: searching them, and the address at which MLflow's clients find them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trainyard.sdk.connection import Connection
    from trainyard.sdk.runs.run import Run


class WorkspaceRuns:
    _connection: Connection
    _workspace_id_internal: str

    def get_run(self, run_id: str) -> Run:
        from trainyard.sdk.runs.run import Run

        return Run.get(self, run_id)  # type: ignore[arg-type]

    def search_runs(
        self, query: str = "", order_by: Any = (), experiments: Any = (), max_results: int | None = None
    ) -> Iterator[Run]:
        """Runs that a query such as `metrics.loss < 0.1 and tags.team = "vision"` finds, children too: newest first,
        or as `order_by` says (`metrics.loss.min asc`). docs/search.md has the language."""
        from trainyard.sdk.runs.run_search import search_runs

        return search_runs(self, query, order_by, experiments, max_results)  # type: ignore[arg-type]

    def get_mlflow_tracking_uri(self, with_auth: bool = False) -> str:
        """What to give mlflow.set_tracking_uri(). There is never a token in it: MLflow's own plug-in points add that
        (see trainyard.mlflow_plugin)."""
        from trainyard.sdk.runs.mlflow_address import tracking_uri

        return tracking_uri(self._connection, self._workspace_id_internal, with_auth)
