"""Rows of services and their versions to records, and the look-ups everybody needs."""

from __future__ import annotations

import socket
from collections.abc import Iterable
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from sqlalchemy import Connection, Row, select

from trainyard.contract.codec import from_json
from trainyard.contract.endpoints import (
    OperationState,
    ServiceKind,
    ServiceRecord,
    Share,
    VersionRecord,
    VersionSpec,
)
from trainyard.contract.errors import UnknownWebservice
from trainyard.contract.serving import Auth, Scorer, ServiceState
from trainyard.server.endpoints.decide import Revision, Step, shares
from trainyard.server.endpoints.tables import service_versions, services

_STATES = {
    Step.WAITING: ServiceState.TRANSITIONING,
    Step.BUILDING: ServiceState.TRANSITIONING,
    Step.TRIAL: ServiceState.TRANSITIONING,
    Step.LIVE: ServiceState.HEALTHY,
    Step.FAILED: ServiceState.FAILED,
    Step.RETIRED: ServiceState.FAILED,
}


def service_row(tx: Connection, workspace_id: str, name: str) -> Row[Any]:
    if (row := find_service(tx, workspace_id, name)) is None:
        here = (services.c.workspace_id == workspace_id) & services.c.deleting.is_(False)
        raise UnknownWebservice(name, tx.execute(select(services.c.name).where(here)).scalars())
    return row


def find_service(tx: Connection, workspace_id: str, name: str) -> Row[Any] | None:
    """Those that are being deleted are not there any more: their name is free."""
    here = (services.c.workspace_id == workspace_id) & (services.c.name == name) & services.c.deleting.is_(False)
    return tx.execute(select(services).where(here).with_for_update()).first()


def service_by_id(tx: Connection, service_id: str) -> Row[Any] | None:
    return tx.execute(select(services).where(services.c.service_id == service_id)).first()


def version_rows(tx: Connection, service_ids: Iterable[str]) -> list[Row[Any]]:
    here = service_versions.c.service_id.in_(list(service_ids))
    return list(tx.execute(select(service_versions).where(here).order_by(service_versions.c.key)).all())


def revision(row: Row[Any]) -> Revision:
    share = Share(row.traffic, row.mirror, row.is_default, row.is_control)
    scorer = from_json(Scorer, row.scorer) if row.scorer else None
    return Revision(row.key, row.name, row.revision, Step(row.step), share, scorer)


def spec_of(row: Row[Any]) -> VersionSpec:
    return from_json(VersionSpec, row.spec)


def current(rows: Iterable[Row[Any]]) -> dict[str, Row[Any]]:
    """Of each version the newest revision that is not retired, the oldest version first."""
    found: dict[str, Row[Any]] = {}
    for row in sorted(rows, key=lambda it: it.key):
        if Step(row.step) is not Step.RETIRED:
            found[row.name] = row
    return found


def to_records(tx: Connection, rows: Iterable[Row[Any]], host: str | None = None) -> list[ServiceRecord]:
    rows = list(rows)
    versions: dict[str, list[Row[Any]]] = {}
    for version in version_rows(tx, [row.service_id for row in rows]):
        versions.setdefault(version.service_id, []).append(version)
    return [_record(row, versions.get(row.service_id, []), host) for row in rows]


def _record(row: Row[Any], versions: list[Row[Any]], host: str | None) -> ServiceRecord:
    newest = current(versions)
    share = shares([revision(version) for version in newest.values()])
    return ServiceRecord(
        id=row.service_id,
        workspace_id=row.workspace_id,
        name=row.name,
        kind=ServiceKind(row.kind),
        state=ServiceState(row.state),
        operation=OperationState(row.operation),
        generation=row.generation,
        auth=Auth(row.auth),
        created_by=row.created_by,
        created_ns=row.created_ns,
        modified_ns=row.modified_ns,
        url=_reachable(row.url, host),
        port=row.port,
        error=row.error,
        target=row.target,
        namespace=row.namespace,
        description=row.description,
        collect=row.collect,
        tags=row.tags,
        properties=row.properties,
        versions=tuple(
            replace(_version(version), traffic=share[name] if row.kind == ServiceKind.ENDPOINT.value else 100)
            for name, version in newest.items()
        ),
        chain=row.chain,
        cname=row.cname,
        warnings=tuple(dict.fromkeys([*row.warnings, *(w for version in newest.values() for w in version.warnings)])),
    )


def _version(row: Row[Any]) -> VersionRecord:
    return VersionRecord(
        name=row.name,
        revision=row.revision,
        state=_STATES[Step(row.step)],
        spec=spec_of(row),
        traffic=row.traffic,
        mirror=row.mirror,
        is_default=row.is_default,
        is_control=row.is_control,
        created_ns=row.created_ns,
        modified_ns=row.modified_ns,
        error=row.error,
        workers=row.workers,
        environment=row.fingerprint,
        warnings=tuple(row.warnings),
    )


def _reachable(url: str | None, advertised: str | None) -> str | None:
    """A front that listens on every address is reached at the one that this machine is known by."""
    if url is None or urlsplit(url).hostname not in ("0.0.0.0", "::"):  # noqa: S104 - looked for, not listened at
        return url
    host = urlsplit(advertised).hostname if advertised and "://" in advertised else advertised
    return f"{urlsplit(url).scheme}://{host or socket.gethostname()}:{url.rpartition(':')[2]}"
