"""The address that MLflow's clients are given."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from trainyard.contract.attempts import JobContext
from trainyard.contract.mlflow import plugin_uri
from trainyard.sdk.effects import no_effect

if TYPE_CHECKING:
    from trainyard.sdk.connection import Connection


def tracking_uri(connection: Connection, workspace_id: str, with_auth: bool) -> str:
    """A job has been given its own, which works with any MLflow; everybody else's finds its token by our plug-in."""
    no_effect("Workspace.get_mlflow_tracking_uri", with_auth=with_auth or None)
    given = os.environ.get("MLFLOW_TRACKING_URI", "")
    if JobContext.of_this_process() is not None and workspace_id in given:
        return given
    return plugin_uri(connection.http.url, workspace_id)
