"""What other features ask of MLflow's adapter."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection, delete

from trainyard.server.mlflow.tables import logged_models, registered_models, run_inputs


def forget(tx: Connection, workspace_id: str, runs: Sequence[tuple[int, str]]) -> None:
    """What only MLflow knew of runs that are deleted, as (key, id)."""
    tx.execute(delete(run_inputs).where(run_inputs.c.run_key.in_([key for key, _ in runs])))
    made = logged_models.c.run_id.in_([run_id for _, run_id in runs])
    tx.execute(delete(logged_models).where(logged_models.c.workspace_id == workspace_id, made))


def remove_all(tx: Connection, workspace_id: str) -> None:
    """The workspace goes, and what only MLflow knew of it."""
    for table in (run_inputs, logged_models, registered_models):
        tx.execute(delete(table).where(table.c.workspace_id == workspace_id))
