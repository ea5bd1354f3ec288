"""Make, find and change workspaces and experiments."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, Row, bindparam, delete, insert, select, update

from trainyard.contract.errors import AlreadyExists, UnknownExperiment, UnknownWorkspace
from trainyard.contract.names import check_name, new_id
from trainyard.contract.runs import ExperimentRecord, WorkspaceRecord
from trainyard.server.workspaces.tables import experiments, workspaces

# Made once: building a statement costs more than running it.
_WORKSPACE = select(workspaces).where(workspaces.c.workspace_id == bindparam("workspace_id"))
_EXPERIMENT = select(experiments).where(
    experiments.c.workspace_id == bindparam("workspace_id"), experiments.c.name == bindparam("name")
)
_NAMES = select(experiments.c.experiment_id, experiments.c.name).where(
    experiments.c.experiment_id.in_(bindparam("ids", expanding=True))
)
_COUNT_UP = (
    update(experiments)
    .where(experiments.c.experiment_id == bindparam("old_id"))
    .values(last_number=experiments.c.last_number + 1)
    .returning(experiments.c.last_number)
)


@dataclass(frozen=True)
class NewWorkspace:
    name: str
    subscription_id: str = ""
    resource_group: str = ""
    location: str = ""
    friendly_name: str | None = None
    tags: dict[str, str] = field(default_factory=dict)
    exist_ok: bool = False


@dataclass(frozen=True)
class WorkspaceChange:
    friendly_name: str | None = None
    description: str | None = None
    tags: dict[str, str] | None = None


@dataclass(frozen=True)
class ExperimentChange:
    set_tags: dict[str, str | None] = field(default_factory=dict)
    remove_tags: tuple[str, ...] = ()
    archived: bool | None = None
    new_name: str | None = None


def create_workspace(tx: Connection, new: NewWorkspace, principal: str, now_ns: int) -> WorkspaceRecord:
    check_name("a workspace", new.name)
    same = select(workspaces).where(
        workspaces.c.name == new.name,
        workspaces.c.subscription_id == new.subscription_id,
        workspaces.c.resource_group == new.resource_group,
    )
    if (row := tx.execute(same).first()) is not None:
        if new.exist_ok:
            return _workspace(row)
        raise AlreadyExists(
            f"Workspace {new.name!r} exists already. To use it, pass exist_ok=True "
            "(`trainyard workspace create --exist-ok`)."
        )
    workspace_id = new_id()
    values = {name: getattr(new, name) for name in ("name", "subscription_id", "resource_group", "location")}
    row_values = {**values, "friendly_name": new.friendly_name, "tags": new.tags, "created_ns": now_ns}
    tx.execute(insert(workspaces).values(workspace_id=workspace_id, created_by=principal, **row_values))
    return get_workspace(tx, workspace_id)


def find_workspace(
    tx: Connection, name: str, subscription_id: str | None, resource_group: str | None
) -> WorkspaceRecord:
    query = select(workspaces).where(workspaces.c.name == name)
    if subscription_id is not None:
        query = query.where(workspaces.c.subscription_id == subscription_id)
    if resource_group is not None:
        query = query.where(workspaces.c.resource_group == resource_group)
    if (row := tx.execute(query.order_by(workspaces.c.created_ns)).first()) is None:
        raise UnknownWorkspace(name, tx.execute(select(workspaces.c.name)).scalars())
    return _workspace(row)


def get_workspace(tx: Connection, workspace_id: str) -> WorkspaceRecord:
    row = tx.execute(_WORKSPACE, {"workspace_id": workspace_id}).first()
    if row is None:
        raise UnknownWorkspace(workspace_id, tx.execute(select(workspaces.c.name)).scalars())
    return _workspace(row)


def list_workspaces(tx: Connection) -> list[WorkspaceRecord]:
    return [_workspace(row) for row in tx.execute(select(workspaces).order_by(workspaces.c.name))]


def change_workspace(tx: Connection, workspace_id: str, change: WorkspaceChange) -> WorkspaceRecord:
    given = {name: value for name, value in vars(change).items() if value is not None}
    if given:
        tx.execute(update(workspaces).where(workspaces.c.workspace_id == workspace_id).values(**given))
    return get_workspace(tx, workspace_id)


def delete_workspace(tx: Connection, workspace_id: str) -> None:
    tx.execute(delete(workspaces).where(workspaces.c.workspace_id == workspace_id))


def ensure_experiment(tx: Connection, workspace_id: str, name: str, principal: str, now_ns: int) -> ExperimentRecord:
    """The experiment of that name, made if it is not there."""
    check_name("an experiment", name)
    if (row := _experiment_row(tx, workspace_id, name)) is None:
        get_workspace(tx, workspace_id)
        values = {"workspace_id": workspace_id, "created_by": principal, "name": name, "tags": {}, "created_ns": now_ns}
        tx.execute(insert(experiments).values(experiment_id=new_id(), last_number=0, **values))
        row = _experiment_row(tx, workspace_id, name)
        assert row is not None
    return _experiment(row)


def get_experiment(tx: Connection, workspace_id: str, name: str) -> ExperimentRecord:
    if (row := _experiment_row(tx, workspace_id, name)) is None:
        raise UnknownExperiment(name)
    return _experiment(row)


def experiment_by_id(tx: Connection, workspace_id: str, experiment_id: str) -> ExperimentRecord:
    here = (experiments.c.workspace_id == workspace_id) & (experiments.c.experiment_id == experiment_id)
    if (row := tx.execute(select(experiments).where(here)).first()) is None:
        raise UnknownExperiment(experiment_id)
    return _experiment(row)


def experiment_names(tx: Connection, experiment_ids: set[str]) -> dict[str, str]:
    return {row.experiment_id: row.name for row in tx.execute(_NAMES, {"ids": list(experiment_ids)})}


def list_experiments(tx: Connection, workspace_id: str, view: str) -> list[ExperimentRecord]:
    query = select(experiments).where(experiments.c.workspace_id == workspace_id)
    if view == "active":
        query = query.where(experiments.c.archived_ns.is_(None))
    elif view == "archived":
        query = query.where(experiments.c.archived_ns.is_not(None))
    return [_experiment(row) for row in tx.execute(query.order_by(experiments.c.name))]


def change_experiment(
    tx: Connection, workspace_id: str, name: str, change: ExperimentChange, now_ns: int
) -> ExperimentRecord:
    record = get_experiment(tx, workspace_id, name)
    kept = {key: value for key, value in record.tags.items() if key not in change.remove_tags}
    values: dict[str, Any] = {"tags": {**kept, **change.set_tags}}
    if change.archived is not None:
        values["archived_ns"] = now_ns if change.archived else None
    if change.new_name is not None and change.new_name != name:
        check_name("an experiment", change.new_name)
        if _experiment_row(tx, workspace_id, change.new_name) is not None:
            raise AlreadyExists(f"Experiment {change.new_name!r} exists already. Choose another name.")
        values["name"] = change.new_name
    tx.execute(update(experiments).where(experiments.c.experiment_id == record.id).values(**values))
    return experiment_by_id(tx, workspace_id, record.id)


def delete_experiment(tx: Connection, experiment_id: str) -> None:
    tx.execute(delete(experiments).where(experiments.c.experiment_id == experiment_id))


def next_number(tx: Connection, experiment_id: str) -> int:
    """The next run's number within its experiment."""
    number: int = tx.execute(_COUNT_UP, {"old_id": experiment_id}).scalar_one()
    return number


def _experiment_row(tx: Connection, workspace_id: str, name: str) -> Row[Any] | None:
    return tx.execute(_EXPERIMENT, {"workspace_id": workspace_id, "name": name}).first()


def _workspace(row: Row[Any]) -> WorkspaceRecord:
    return WorkspaceRecord(id=row.workspace_id, **{k: v for k, v in row._mapping.items() if k != "workspace_id"})


def _experiment(row: Row[Any]) -> ExperimentRecord:
    return ExperimentRecord(
        row.experiment_id, row.workspace_id, row.name, row.created_by, row.created_ns, row.tags, row.archived_ns
    )
