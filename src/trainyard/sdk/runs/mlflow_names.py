"""What azureml.mlflow offered besides its plug-ins."""

from __future__ import annotations

from typing import Any

from trainyard.sdk.errors import UserErrorException


def get_portal_url(run: Any) -> str:
    """The page of a run that mlflow.start_run() or mlflow.get_run() gave."""
    from trainyard.sdk.connection import connect

    uri = getattr(run.info, "artifact_uri", "") or ""
    _, mark, rest = uri.partition("/workspaces/")
    if not mark:
        raise UserErrorException("This run is not of a Trainyard workspace. Set MLflow's tracking URI to one first.")
    connection = connect()
    workspace = connection.workspaces.get(rest.partition("/")[0])
    return f"{connection.http.url}/workspaces/{workspace.name}/runs/{run.info.run_id}"


def register_model(run: Any, name: str, path: str, tags: dict[str, str] | None = None, **kwargs: Any) -> Any:
    """Registers what an MLflow run logged below `path`."""
    import mlflow

    del kwargs
    return mlflow.register_model(f"runs:/{run.info.run_id}/{path}", name, tags=tags)
