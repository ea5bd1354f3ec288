"""Where the service speaks MLflow's REST API, and how that is written as an address of MLflow's.

`azureml://host:port/mlflow/v2.0/workspaces/ID` is what a process with our plug-in uses: it brings the token to that
service and to no other. Below `v1.0` is the same for plain MLflow clients, which are given the token in
MLFLOW_TRACKING_TOKEN; files are then named `mlflow-artifacts:/…`, which those understand by themselves.
"""

from __future__ import annotations

import urllib.parse

SCHEME = "azureml"
PLAIN, PLUGIN = "v1.0", "v2.0"
RUNS, MODELS, REGISTERED = "runs", "models", "registered"  # the kinds of folders that files lie in


def base_path(flavour: str, workspace_id: str) -> str:
    return f"/mlflow/{flavour}/workspaces/{workspace_id}"


def plain_uri(url: str, workspace_id: str) -> str:
    """For clients without our plug-in."""
    return url.rstrip("/") + base_path(PLAIN, workspace_id)


def plugin_uri(url: str, workspace_id: str) -> str:
    """`azureml://…` for a service at `url`; one that speaks TLS is marked, the scheme has no room for it."""
    parts = urllib.parse.urlsplit(url)
    tls = "?tls=1" if parts.scheme == "https" else ""
    return f"{SCHEME}://{parts.netloc}{parts.path.rstrip('/')}{base_path(PLUGIN, workspace_id)}{tls}"


def service_url(uri: str) -> tuple[str, str] | None:
    """(http address with the path, workspace id) of an `azureml://…` of ours; None for one of Azure's own."""
    parts = urllib.parse.urlsplit(uri)
    head, mark, rest = parts.path.partition("/mlflow/")
    flavour, _, tail = rest.partition("/workspaces/")
    workspace_id = tail.partition("/")[0]
    if parts.scheme != SCHEME or not mark or flavour not in (PLAIN, PLUGIN) or not workspace_id:
        return None
    scheme = "https" if urllib.parse.parse_qs(parts.query).get("tls") else "http"
    return f"{scheme}://{parts.netloc}{head}{base_path(PLUGIN, workspace_id)}", workspace_id
