"""Where a run's data came from and what became of it: datasets it read and left, models made of it."""

from __future__ import annotations

from typing import Any

from trainyard.cli.output import console, human_size, show_table
from trainyard.cli.place import open_yard
from trainyard.contract.data import DataUse
from trainyard.contract.models import ModelQuery, ModelRecord
from trainyard.contract.runs import RunRecord

Lineage = tuple[list[DataUse], list[ModelRecord]]


def lineage_of(run: RunRecord) -> Lineage:
    yard = open_yard()
    uses = yard.data(run.workspace_id).uses_of_run(run.run_id)
    return uses, list(yard.models(run.workspace_id).find_all(ModelQuery(run_id=run.run_id)))


def as_json(lineage: Lineage) -> dict[str, Any]:
    uses, models = lineage
    data = [
        {
            "name": use.name,
            "output": use.output,
            "mode": use.mode,
            "dataset": use.dataset_name,
            "version": use.dataset_version,
            "dataset_id": use.dataset_id,
            "sources": [_source(use, at) for at in range(len(use.sources))],
            "files": use.files,
            "bytes": use.bytes,
            "digest": use.digest,
        }
        for use in uses
    ]
    return {"data": data, "models": [f"{model.name}:{model.version}" for model in models]}


def show_lineage(lineage: Lineage) -> None:
    uses, models = lineage
    if uses:
        console().print("\n[bold]Data[/]")
        rows = (
            [use.name, "left" if use.output else "read", use.mode, _what(use), use.files, human_size(use.bytes)]
            for use in sorted(uses, key=lambda use: (use.output, use.name))
        )
        show_table(["name", "", "mode", "dataset", "files", "size"], rows, empty="")
    if models:
        console().print("\n[bold]Models[/]")
        rows = ([f"{model.name}:{model.version}", model.files, human_size(model.size)] for model in models)
        show_table(["model", "files", "size"], rows, empty="")


def _what(use: DataUse) -> str:
    """A registered one by its name; any other by where its files are."""
    if use.dataset_name:
        return f"{use.dataset_name}:{use.dataset_version}"
    more = f" and {len(use.sources) - 1} more" if len(use.sources) > 1 else ""
    return (_source(use, 0) if use.sources else "") + more


def _source(use: DataUse, at: int) -> str:
    source = use.sources[at]
    return f"{source.datastore}/{source.path}" if source.datastore else source.path
