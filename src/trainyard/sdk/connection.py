"""One connection to a service, as the SDK uses it: our errors leave it as the SDK's, blobs take the shortest way."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from trainyard.client.home import Home
from trainyard.client.http import Body, Http
from trainyard.client.runs import Runs
from trainyard.client.workspaces import Experiments, Workspaces
from trainyard.contract.attempts import JobContext
from trainyard.sdk.errors import sdk_errors

if TYPE_CHECKING:
    from trainyard.blobs.base import BlobStore
    from trainyard.client.computes import Computes
    from trainyard.client.data import Data
    from trainyard.client.environments import Environments
    from trainyard.client.models import Models
    from trainyard.client.services import Images, Services
    from trainyard.client.sweeps import Sweeps
    from trainyard.client.vault import Vault

T = TypeVar("T")


class SdkHttp(Http):
    """Every request of the SDK passes here, so this is the one place where errors are translated."""

    def plain(self) -> Http:
        """The same service, with our own errors."""
        return Http(self._endpoint, self._token, self.home)

    @property
    def url(self) -> str:
        with sdk_errors():
            return super().url

    def json(self, method: str, path: str, value: Any = None, query: Mapping[str, Any] | None = None) -> Any:
        with sdk_errors():
            return super().json(method, path, value, query)

    def get(self, kind: type[T], path: str, query: Mapping[str, Any] | None = None) -> T:
        with sdk_errors():
            return super().get(kind, path, query)

    def post(self, kind: type[T], path: str, value: Any = None, query: Mapping[str, Any] | None = None) -> T:
        with sdk_errors():
            return super().post(kind, path, value, query)

    def send(
        self,
        method: str,
        path: str,
        body: Body = None,
        query: Mapping[str, Any] | None = None,
        content_type: str = "application/octet-stream",
    ) -> bytes:
        with sdk_errors():
            return super().send(method, path, body, query, content_type)

    def stream(self, path: str, query: Mapping[str, Any] | None = None, size: int = 1 << 16) -> Iterator[bytes]:
        with sdk_errors():
            yield from super().stream(path, query, size)


class Connection:
    """The service, and how this process reaches it."""

    def __init__(self, http: SdkHttp, shared_blobs: str | None, cache: str) -> None:
        self.http = http
        self.workspaces = Workspaces(http)
        self.cache = cache  # where what this machine knows about snapshots is kept
        self._shared_blobs = shared_blobs

    @property
    def is_embedded(self) -> bool:
        """Whether the service is the one of this machine's home, which makes what is missing."""
        return self.http.home is not None

    def blobs(self) -> BlobStore:
        """Where content goes: straight into the service's folder when this process sees it."""
        if self._shared_blobs:
            from trainyard.blobs.files import FileStore

            return FileStore(self._shared_blobs)
        from trainyard.blobs.remote import RemoteStore
        from trainyard.client.blobs import Blobs

        return RemoteStore(Blobs(self.http))

    def of_workspace(self, workspace_id: str) -> WorkspaceClients:
        return WorkspaceClients(self.http, workspace_id)


class WorkspaceClients:
    """The clients of one workspace's things."""

    def __init__(self, http: SdkHttp, workspace_id: str) -> None:
        self.experiments = Experiments(http, workspace_id)
        self.runs = Runs(http, workspace_id)
        self._http, self._workspace_id = http, workspace_id

    @property
    def computes(self) -> Computes:
        from trainyard.client.computes import Computes

        return Computes(self._http, self._workspace_id)

    @property
    def data(self) -> Data:
        from trainyard.client.data import Data

        return Data(self._http, self._workspace_id)

    @property
    def sweeps(self) -> Sweeps:
        from trainyard.client.sweeps import Sweeps

        return Sweeps(self._http, self._workspace_id)

    @property
    def environments(self) -> Environments:
        from trainyard.client.environments import Environments

        return Environments(self._http, self._workspace_id)

    @property
    def models(self) -> Models:
        from trainyard.client.models import Models

        return Models(self._http, self._workspace_id)

    @property
    def services(self) -> Services:
        from trainyard.client.services import Services

        return Services(self._http, self._workspace_id)

    @property
    def vault(self) -> Vault:
        from trainyard.client.vault import Vault

        return Vault(self._http, self._workspace_id)

    @property
    def images(self) -> Images:
        from trainyard.client.services import Images

        return Images(self._http, self._workspace_id)


def connect(endpoint: str | None = None) -> Connection:
    """The service this process belongs to: a job's own, else what the environment, `endpoint` or the home says."""
    if (job := JobContext.of_this_process()) is not None:
        return connect_job(job, os.environ)
    http = SdkHttp.from_env(os.environ, endpoint)
    shared = http.home.blobs if http.home is not None else None
    return Connection(http, shared, Home.default(dict(os.environ)).file("snapshots"))


def connect_job(job: JobContext, variables: Mapping[str, str]) -> Connection:
    """Inside a job: with the attempt's own token."""
    home = Home(job.home) if job.home and job.endpoint is None else None
    http = SdkHttp(job.endpoint, variables.get("AZUREML_RUN_TOKEN"), home)
    return Connection(http, job.shared_blobs, os.path.join(job.working, "..", "snapshots"))
