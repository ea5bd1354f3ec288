"""From where a registered version's files come, to content the registry can keep."""

from __future__ import annotations

from dataclasses import replace

from trainyard.blobs.bundle import Bundled, bundle
from trainyard.contract.errors import NotFound
from trainyard.contract.mlflow import REGISTERED, RUNS
from trainyard.contract.models import Lineage, ModelSource
from trainyard.server.mlflow import models as logged
from trainyard.server.mlflow.wire import Call
from trainyard.server.registry import content, service
from trainyard.server.workspaces import service as workspaces


def content_of(call: Call, where: tuple[str, str, str]) -> tuple[str, Lineage | None]:
    """The digest of a tree, and the run it is from. `where` is (kind, owner, path)."""
    kind, owner, path = where
    store = call.context.blobs
    if kind == REGISTERED:
        with call.context.db.read() as tx:
            record = service.get(tx, call.workspace_id, owner)
        return record.content, record.lineage
    if kind == RUNS:
        with call.context.db.read() as tx:
            lineage, files = content.of_run(tx, call.context, call.workspace_id, owner)
            names = workspaces.experiment_names(tx, {lineage.experiment})
        tree = content.gathered(store, ModelSource(path=path, run_id=owner), owner, files)
        return tree, replace(lineage, experiment=names[lineage.experiment])
    with call.context.db.read() as tx:
        files = logged.files(tx, call.workspace_id, owner)
    if not files:
        raise NotFound(f"Logged model {owner} has no files yet. Register it when they are uploaded.")
    # a folder of its own, as a model that is a run's has
    return bundle(store, (Bundled(f"model/{file.name}", file.size, str(file.digest)) for file in files)), None
