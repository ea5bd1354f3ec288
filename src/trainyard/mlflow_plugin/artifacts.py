"""Files at `azureml://…` addresses of ours, through the service's artifact proxy."""

from __future__ import annotations

import posixpath
import urllib.parse
from typing import Any

from mlflow.entities import FileInfo
from mlflow.store.artifact.http_artifact_repo import HttpArtifactRepository
from mlflow.utils.rest_utils import MlflowHostCreds, augmented_raise_for_status, http_request

from trainyard.mlflow_plugin.stores import credentials

_PROXY = "/api/2.0/mlflow-artifacts/artifacts"


class Artifacts(HttpArtifactRepository):
    """`azureml://host/mlflow/v2.0/workspaces/ID/artifacts/FOLDER`"""

    def __init__(
        self, artifact_uri: str, tracking_uri: str | None = None, registry_uri: str | None = None, **_: Any
    ) -> None:
        super().__init__(artifact_uri, tracking_uri, registry_uri)
        self._folder = urllib.parse.urlsplit(artifact_uri).path.partition("/artifacts/")[2].strip("/")

    @property
    def _host_creds(self) -> MlflowHostCreds:
        known = credentials(self.artifact_uri)
        return MlflowHostCreds(
            host=f"{known.host.partition('/artifacts/')[0]}{_PROXY}/{self._folder}", token=known.token
        )

    def list_artifacts(self, path: str | None = None) -> list[FileInfo]:
        known = self._host_creds
        base = MlflowHostCreds(host=known.host.partition(_PROXY)[0], token=known.token)
        wanted = posixpath.join(self._folder, path) if path else self._folder
        answer = http_request(base, _PROXY, "GET", params={"path": wanted})
        augmented_raise_for_status(answer)
        found = answer.json().get("files", [])
        if path and len(found) == 1 and not found[0]["is_dir"] and found[0]["path"] == posixpath.basename(path):
            return []  # of a file, MLflow wants nothing listed
        return [
            FileInfo(posixpath.join(path or "", each["path"]), each["is_dir"], each.get("file_size")) for each in found
        ]

    def _is_multipart_upload_enabled(self) -> bool:
        return False
