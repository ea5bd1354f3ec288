"""The files of datastores and datasets as this process reaches them: one locator and one cache for each workspace."""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from trainyard.sdk.errors import sdk_errors

if TYPE_CHECKING:
    from trainyard.blobs.depots.cache import DataCache
    from trainyard.blobs.depots.locate import Locator
    from trainyard.blobs.depots.resolve import Entry
    from trainyard.client.data import Data
    from trainyard.contract.data import DatasetDefinition
    from trainyard.sdk.workspace import Workspace

CACHE_GB = "TRAINYARD_DATA_CACHE_GB"
_DEFAULT_GB = 50.0


def locator(workspace: Workspace | None) -> Locator:
    """Of a dataset without datastores `workspace` is None."""
    from trainyard.blobs.depots.locate import Locator
    from trainyard.blobs.depots.web import web_depot

    with sdk_errors():
        web = web_depot(os.environ, private=os.environ.get("TRAINYARD_ALLOW_PRIVATE_ADDRESSES", "1") != "0")
    embedded = workspace is None or workspace._connection.is_embedded
    client = _untranslated(workspace) if workspace is not None else None
    record_of = client.datastore if client is not None else None
    return Locator(record_of, client, web, sees_folder=lambda _record: embedded, local_files=True)


def _untranslated(workspace: Workspace) -> Data:
    """Errors stay ours below the SDK: depots and the cache tell one that is worth another try from one that is not."""
    from trainyard.client.data import Data

    return Data(workspace._connection.http.plain(), workspace._workspace_id_internal)


def cache() -> DataCache:
    """The home's own: what a run fetched need not be fetched again here, and the other way round."""
    from trainyard.blobs.depots.cache import DataCache

    return DataCache(_cache_folder(), cache_limit(os.environ))


def cache_limit(variables: Mapping[str, str]) -> int:
    return int(float(variables.get(CACHE_GB) or _DEFAULT_GB) * (1 << 30))


def entries_of(definition: DatasetDefinition, workspace: Workspace | None, *, missing_ok: bool = False) -> list[Entry]:
    from trainyard.blobs.depots.resolve import resolve

    with sdk_errors():
        return resolve(definition, locator(workspace), missing_ok=missing_ok)


@functools.cache
def _cache_folder() -> str:
    from trainyard.client.home import Home
    from trainyard.contract.attempts import JobContext

    job = JobContext.of_this_process()
    if job is not None and not job.home:
        return os.path.join(os.path.dirname(job.working), "data-cache")
    home = Home(job.home) if job is not None and job.home else Home.default(dict(os.environ))
    return home.file("data-cache")
