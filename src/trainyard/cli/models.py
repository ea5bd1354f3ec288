"""`trainyard models list|show|register|download|alias|delete`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from cyclopts import App, Parameter
from cyclopts.validators import Number

from trainyard.cli.output import (
    JsonFlag,
    WorkspaceOption,
    age,
    console,
    human_size,
    iso,
    show_json,
    show_table,
)
from trainyard.cli.place import open_place
from trainyard.contract.errors import InvalidRequest
from trainyard.sdk.models.model import Model

app = App(name="models", help="Registered models. A model is named NAME for its newest version, NAME:3 or NAME@alias.")

ModelId = Annotated[str, Parameter(help="NAME, NAME:VERSION or NAME@ALIAS.")]


@app.command(name="list")
def list_(
    *,
    name: Annotated[str | None, Parameter(help="Only this name's versions.")] = None,
    tag: Annotated[
        tuple[str, ...], Parameter(negative="", show_default=False, help="Only with KEY or KEY=VALUE; may be repeated.")
    ] = (),
    latest: Annotated[bool, Parameter(negative="", help="Of each name only the newest version.")] = False,
    limit: Annotated[int, Parameter(name=["--limit", "-n"], validator=Number(gte=1), help="At most so many.")] = 50,
    workspace: WorkspaceOption = None,
    json: JsonFlag = False,
) -> None:
    """List models, the newest first.

    Try:

        trainyard models list --latest
        trainyard models list --tag area=digits --json
    """
    tags = [one.split("=", 1) if "=" in one else one for one in tag]
    opened = _open(workspace)
    found = Model.list(opened, name=name, tags=tags or None, latest=latest)[:limit]
    if json:
        show_json([_json(model) for model in found])
        return
    show_table(
        ["model", "aliases", "framework", "files", "size", "run", "created"],
        (
            [
                model.id,
                ", ".join(model.aliases),
                " ".join(filter(None, (model.model_framework, model.model_framework_version))),
                model._record.files,
                human_size(model._record.size),
                model.run_id or "",
                age(model._record.created_ns),
            ]
            for model in found
        ),
        empty="No such models. `trainyard models register NAME PATH` makes one, and so does run.register_model(...).",
    )


@app.command
def show(model: ModelId, /, *, workspace: WorkspaceOption = None, json: JsonFlag = False) -> None:
    """Show one model: what it is, where it is from, what is in it, and where it is deployed."""
    from trainyard.sdk.models.model_files import file_names
    from trainyard.sdk.services.webservice import Webservice

    opened = _open(workspace)
    found = Model(opened, id=model)
    record, files = found._record, file_names(found)
    services = [it.name for kind in (None, "Local") for it in Webservice.list(opened, kind, model_id=found.id)]
    if json:
        show_json({**_json(found), "files": files, "services": services, "lineage": _lineage(found)})
        return
    console().print(f"[bold]{found.id}[/]  {', '.join(found.aliases)}", highlight=False)
    if found.description:
        console().print(found.description, markup=False)
    facts = {
        "framework": " ".join(filter(None, (found.model_framework, found.model_framework_version))),
        "created": f"{age(record.created_ns)} by {record.created_by}",
        "size": f"{human_size(record.size)} in {record.files} file(s)",
        "tags": ", ".join(key if value is None else f"{key}={value}" for key, value in found.tags.items()),
        **{key.replace("_", " "): value for key, value in (_lineage(found) or {}).items()},
        "services": ", ".join(services),
    }
    show_table(["", ""], ([key, value] for key, value in facts.items() if value), empty="")
    show_table(["file"], ([name] for name in files), empty="")


@app.command
def register(
    name: Annotated[str, Parameter(help="The model's name.")],
    path: Annotated[str, Parameter(help="A file or folder here, or with --run a path among that run's files.")],
    /,
    *,
    run: Annotated[str | None, Parameter(help="Take it from this run's files; `latest` is the newest run.")] = None,
    framework: Annotated[str | None, Parameter(help="TensorFlow, ScikitLearn, Onnx, PyTorch, TfKeras, …")] = None,
    framework_version: Annotated[str | None, Parameter(help="Version of the framework.")] = None,
    description: Annotated[str | None, Parameter(help="What it is.")] = None,
    tag: Annotated[
        tuple[str, ...], Parameter(negative="", show_default=False, help="KEY=VALUE; may be repeated.")
    ] = (),
    alias: Annotated[
        tuple[str, ...], Parameter(negative="", show_default=False, help="Put this alias on it; may be repeated.")
    ] = (),
    workspace: WorkspaceOption = None,
) -> None:
    """Register a file or folder as the next version of a model.

    Try:

        trainyard models register digits outputs/model --run latest
    """
    opened = _open(workspace, make=True)
    more: dict[str, Any] = {
        "tags": _pairs(tag),
        "description": description,
        "model_framework": framework,
        "model_framework_version": framework_version,
    }
    if run is not None:
        from trainyard.cli.finding import find_run
        from trainyard.sdk.runs.run import Run

        _, found = find_run(run, workspace)
        made = Run.get(opened, found.run_id).register_model(name, path, **more)
    else:
        made = Model.register(opened, path, name, **more)
    for each in alias:
        made.set_alias(each)
    console().print(f"{made.id} is registered.", markup=False)


@app.command
def download(
    model: ModelId,
    /,
    *,
    to: Annotated[Path, Parameter(help="The folder to write below.")] = Path(),
    overwrite: Annotated[bool, Parameter(negative="", help="Over files that are there.")] = False,
    workspace: WorkspaceOption = None,
) -> None:
    """Write a model's files below a folder; each is checked while it is read."""
    path = Model(_open(workspace), id=model).download(str(to), exist_ok=overwrite)
    console().print(path, markup=False)


@app.command
def alias(
    model: ModelId,
    alias: Annotated[str, Parameter(help="Such as champion.")],
    /,
    *,
    remove: Annotated[bool, Parameter(negative="", help="Take it off instead.")] = False,
    workspace: WorkspaceOption = None,
) -> None:
    """Put an alias on a version; it leaves the version that had it.

    Try:

        trainyard models alias digits:3 champion
    """
    found = Model(_open(workspace), id=model)
    if remove:
        found.remove_alias(alias)
    else:
        found.set_alias(alias)
    console().print(f"{found.id}: {', '.join(found.aliases) or 'no alias'}", markup=False)


@app.command
def delete(model: ModelId, /, *, workspace: WorkspaceOption = None) -> None:
    """Delete a version. Refused while it is deployed."""
    if not {":", "@"} & set(model):
        raise InvalidRequest(f"Which version of {model}? Say {model}:NUMBER. `trainyard models list --name {model}`.")
    found = Model(_open(workspace), id=model)
    found.delete()
    console().print(f"{found.id} is gone.", markup=False)


def _open(workspace: str | None, *, make: bool = False) -> Any:
    place = open_place(workspace, make=make)
    return place.yard.open(place.workspace)


def _pairs(given: tuple[str, ...]) -> dict[str, str]:
    wrong = next((one for one in given if "=" not in one), None)
    if wrong is not None:
        raise InvalidRequest(f"A tag is written KEY=VALUE, not {wrong!r}.")
    return dict(one.split("=", 1) for one in given)


def _lineage(model: Model) -> dict[str, Any] | None:
    lineage = model._record.lineage
    if lineage is None:
        return None
    return {
        "run": lineage.run_id,
        "experiment": lineage.experiment,
        "snapshot": lineage.snapshot_id,
        "environment": lineage.environment,
        "environment_lock": lineage.environment_lock,
        "commit": lineage.properties.get("azureml.git.commit"),
    }


def _json(model: Model) -> dict[str, Any]:
    """The keys scripts may rely on."""
    return {
        "id": model.id,
        "name": model.name,
        "version": model.version,
        "aliases": model.aliases,
        "framework": model.model_framework,
        "framework_version": model.model_framework_version,
        "description": model.description,
        "tags": model.tags,
        "properties": model.properties,
        "run_id": model.run_id,
        "size": model._record.size,
        "created": iso(model._record.created_ns),
    }
