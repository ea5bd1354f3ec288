"""Register environments and look them up; keep account of builds that were asked for."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, bindparam, delete, func, insert, select, update

from trainyard.contract.environments import BuildRecord, BuildState, EnvironmentRecord, NewBuild
from trainyard.contract.errors import InvalidRequest, NotFound, TrainyardError, UnknownEnvironment
from trainyard.contract.names import check_name, new_id
from trainyard.contract.runs import EnvironmentSpec
from trainyard.environments.specification import parse
from trainyard.server.context import Context
from trainyard.server.credentials import opened, sealed
from trainyard.server.environments.tables import environment_builds, environments
from trainyard.server.secrets import Secrets

_LABEL = re.compile(r"[\w.-]{1,255}")
_RUNNING = select(environment_builds).where(environment_builds.c.state == BuildState.RUNNING.value)
_CHANGE = update(environment_builds).where(environment_builds.c.build_id == bindparam("old_id"))


@dataclass(frozen=True)
class NewEnvironment:
    definition: dict[str, Any]


@dataclass(frozen=True)
class NewLabels:
    labels: tuple[str, ...]


@dataclass(frozen=True)
class Wish:
    """A build that somebody waits for."""

    build_id: str
    spec: EnvironmentSpec
    relax: bool
    fingerprint: str | None
    created_ns: int


def register(
    tx: Connection, context: Context, workspace_id: str, principal: str, new: NewEnvironment
) -> EnvironmentRecord:
    """The next version; the latest one if it says the same."""
    name = check_name("an environment", new.definition.get("name"))
    parse(new.definition)  # what cannot be built is not registered
    secrets, now_ns = Secrets.of_home(context.settings), context.clock()
    latest = _latest(tx, workspace_id, name)
    said = opened({**new.definition, "version": None}, secrets)
    if latest is not None and opened({**latest.definition, "version": None}, secrets) == said:
        return _record(latest)
    version = latest.version + 1 if latest is not None else 1
    definition = {**sealed(new.definition, secrets), "version": str(version)}
    row = {"workspace_id": workspace_id, "name": name, "version": version, "created_by": principal}
    tx.execute(insert(environments).values(**row, definition=definition, created_ns=now_ns, labels=[]))
    return EnvironmentRecord(workspace_id, name, str(version), definition, principal, now_ns)


def get(tx: Connection, workspace_id: str, name: str, version: str | None = None) -> EnvironmentRecord:
    if version is None:
        found = _latest(tx, workspace_id, name)
        if found is None:
            raise UnknownEnvironment(name, None, [record.name for record in list_latest(tx, workspace_id)])
        return _record(found)
    of_name = versions(tx, workspace_id, name)
    for record in of_name:
        if record.version == version:
            return record
    raise UnknownEnvironment(name, version, [record.version for record in of_name])


def label(tx: Connection, workspace_id: str, name: str, version: str, labels: tuple[str, ...]) -> EnvironmentRecord:
    """Puts the labels on that version, and takes them off the others of its environment."""
    if not all(_LABEL.fullmatch(each) for each in labels):
        raise InvalidRequest("A label is 1 to 255 letters, digits, '.', '_' and '-'. Choose other labels.")
    get(tx, workspace_id, name, version)
    for record in versions(tx, workspace_id, name):
        kept = [each for each in record.labels if each not in labels]
        now = [*kept, *dict.fromkeys(labels)] if record.version == version else kept
        if now != list(record.labels):
            here = (environments.c.name == name) & (environments.c.version == int(record.version))
            tx.execute(
                update(environments).where(here & (environments.c.workspace_id == workspace_id)).values(labels=now)
            )
    return get(tx, workspace_id, name, version)


def versions(tx: Connection, workspace_id: str, name: str) -> list[EnvironmentRecord]:
    """All versions, the latest first."""
    here = (environments.c.workspace_id == workspace_id) & (environments.c.name == name)
    rows = tx.execute(select(environments).where(here).order_by(environments.c.version.desc()))
    return [_record(row) for row in rows]


def list_latest(tx: Connection, workspace_id: str) -> list[EnvironmentRecord]:
    latest = (
        select(environments.c.name, func.max(environments.c.version).label("version"))
        .where(environments.c.workspace_id == workspace_id)
        .group_by(environments.c.name)
        .subquery()
    )
    same = (environments.c.name == latest.c.name) & (environments.c.version == latest.c.version)
    rows = select(environments).join(latest, same).where(environments.c.workspace_id == workspace_id)
    return [_record(row) for row in tx.execute(rows.order_by(environments.c.name))]


def ask_for_build(tx: Connection, context: Context, workspace_id: str, principal: str, new: NewBuild) -> BuildRecord:
    parse(new.definition, relax=new.relax_pins)
    build_id = new_id()
    name = str(new.definition.get("name") or "environment")
    tx.execute(
        insert(environment_builds).values(
            build_id=build_id,
            workspace_id=workspace_id,
            created_by=principal,
            name=name,
            definition=sealed(new.definition, Secrets.of_home(context.settings)),
            relax_pins=new.relax_pins,
            state=BuildState.RUNNING.value,
            reason="Accepted",
            warnings=[],
            details={},
            created_ns=context.clock(),
        )
    )
    return get_build(tx, workspace_id, build_id)


def get_build(tx: Connection, workspace_id: str, build_id: str) -> BuildRecord:
    here = (environment_builds.c.workspace_id == workspace_id) & (environment_builds.c.build_id == build_id)
    if (row := tx.execute(select(environment_builds).where(here)).first()) is None:
        raise NotFound(f"No build {build_id!r} in this workspace. Environment.build(workspace) starts one.")
    return BuildRecord(
        build_id=row.build_id,
        workspace_id=row.workspace_id,
        name=row.name,
        state=BuildState(row.state),
        reason=row.reason,
        created_by=row.created_by,
        created_ns=row.created_ns,
        fingerprint=row.fingerprint,
        lock=row.lock,
        warnings=tuple(row.warnings),
        ended_ns=row.ended_ns,
        details=row.details,
    )


def wishes(tx: Connection) -> list[Wish]:
    """Builds that are not over."""
    found = []
    for row in tx.execute(_RUNNING):
        python = row.definition.get("python") or {}
        own = bool(python.get("userManagedDependencies", False)) if isinstance(python, dict) else False
        spec = EnvironmentSpec(row.name, user_managed=own, definition=row.definition)
        found.append(Wish(row.build_id, spec, row.relax_pins, row.fingerprint, row.created_ns))
    return found


def note_fingerprint(tx: Connection, build_id: str, fingerprint: str) -> None:
    tx.execute(_CHANGE, {"old_id": build_id, "fingerprint": fingerprint, "reason": "Building"})


def build_succeeded(
    tx: Connection, build_id: str, fingerprint: str | None, lock: str | None, notes: tuple[str, ...], now_ns: int
) -> None:
    state = {"state": BuildState.SUCCEEDED.value, "reason": "Built" if fingerprint else "Nothing had to be built"}
    values = {**state, "fingerprint": fingerprint, "lock": lock, "warnings": list(notes), "ended_ns": now_ns}
    tx.execute(_CHANGE, {"old_id": build_id, **values})


def build_failed(tx: Connection, build_id: str, error: TrainyardError, now_ns: int) -> None:
    values = {"state": BuildState.FAILED.value, "reason": error.message, "details": error.to_json(), "ended_ns": now_ns}
    tx.execute(_CHANGE, {"old_id": build_id, **values})


def check_version(version: str | None) -> str | None:
    if version is not None and not version.isdigit():
        raise InvalidRequest(f"{version!r} is not a version of an environment: those are '1', '2', … .")
    return version


def remove_all(tx: Connection, workspace_id: str) -> None:
    """The workspace goes, and its environments with it. What is built stays: others may use the same."""
    for table in (environments, environment_builds):
        tx.execute(delete(table).where(table.c.workspace_id == workspace_id))


def _latest(tx: Connection, workspace_id: str, name: str) -> Row[Any] | None:
    here = (environments.c.workspace_id == workspace_id) & (environments.c.name == name)
    return tx.execute(select(environments).where(here).order_by(environments.c.version.desc()).limit(1)).first()


def _record(row: Row[Any]) -> EnvironmentRecord:
    return EnvironmentRecord(
        row.workspace_id, row.name, str(row.version), row.definition, row.created_by, row.created_ns, tuple(row.labels)
    )
