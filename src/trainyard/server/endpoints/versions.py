"""The versions of a service and their revisions: added, replaced, given shares of the traffic."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, Row, insert, select, update

from trainyard.contract.codec import to_json
from trainyard.contract.endpoints import OperationState, ServiceChange, ServiceKind, Share, VersionSpec
from trainyard.contract.errors import ServiceRefused
from trainyard.contract.names import check_name
from trainyard.server.context import Context
from trainyard.server.endpoints import checks
from trainyard.server.endpoints.decide import Step, check_shares
from trainyard.server.endpoints.records import current, spec_of, version_rows
from trainyard.server.endpoints.tables import service_versions, services

PLAIN = "1"  # the name of the only version of a service that is no endpoint


def touch(tx: Connection, row: Row[Any], now_ns: int, **values: Any) -> None:
    """The row changed: the keeper looks whether the front has to be told."""
    changed = {"operation": OperationState.RUNNING.value, "modified_ns": now_ns, **values}
    here = services.c.service_id == row.service_id
    tx.execute(update(services).where(here).values(generation=services.c.generation + 1, **changed))


def add_revision(
    tx: Connection, row: Row[Any], principal: str, name: str, spec: VersionSpec, share: Share, now_ns: int
) -> None:
    """A revision that was still coming is given up: the newer wish counts."""
    here = (service_versions.c.service_id == row.service_id) & (service_versions.c.name == name)
    known = tx.execute(select(service_versions).where(here).order_by(service_versions.c.key)).all()
    coming = (Step.WAITING.value, Step.BUILDING.value, Step.TRIAL.value, Step.FAILED.value)
    retired = {"step": Step.RETIRED.value, "modified_ns": now_ns}
    tx.execute(update(service_versions).where(here, service_versions.c.step.in_(coming)).values(**retired))
    values = {
        "service_id": row.service_id,
        "workspace_id": row.workspace_id,
        "created_by": principal,
        "name": name,
        "revision": max((it.revision for it in known), default=0) + 1,
        "step": Step.WAITING.value,
        "spec": to_json(spec),
        "workers": 0,
        "traffic": share.traffic or 0,
        "mirror": share.mirror or 0,
        "is_default": bool(share.is_default),
        "is_control": bool(share.is_control),
        "warnings": [],
        "created_ns": now_ns,
        "modified_ns": now_ns,
    }
    tx.execute(insert(service_versions).values(**values))


def change_versions(context: Context, tx: Connection, principal: str, row: Row[Any], wish: ServiceChange) -> None:
    now = context.clock()
    there = current(_without_failed_updates(tx, version_rows(tx, [row.service_id]), now))
    name = wish.version_name or (PLAIN if row.kind != ServiceKind.ENDPOINT.value else next(iter(there), PLAIN))
    known = there.get(name)
    if wish.new_version:
        check_name("a version of an endpoint", name)
        if known is not None:
            raise ServiceRefused(
                f"{row.name} has a version {name} already. Change it with update_version, or name another."
            )
    elif known is None:
        known = known_version(row.name, there, name)
    share = _merged(known, wish.share)
    check_shares({**{key: _share(it) for key, it in there.items()}, name: share})
    spec = wish.version
    if spec is None and known is not None and _respecifies(wish):
        spec = _respecified(spec_of(known), wish)
    if spec is not None and (known is None or spec != spec_of(known)):
        if known is not None and _same_work(spec, spec_of(known)):
            here = service_versions.c.key == known.key
            tx.execute(update(service_versions).where(here).values(spec=to_json(spec), modified_ns=now))
        else:
            checked = checks.checked_version(context, tx, row.workspace_id, spec)
            add_revision(tx, row, principal, name, checked, share, now)
    here = (service_versions.c.service_id == row.service_id) & (service_versions.c.name == name)
    tx.execute(update(service_versions).where(here).values(traffic=share.traffic or 0, mirror=share.mirror or 0))
    for flag in ("is_default", "is_control"):
        if wish.share is not None and getattr(wish.share, flag):
            mark(tx, row, name, flag)


def _without_failed_updates(tx: Connection, rows: list[Row[Any]], now_ns: int) -> list[Row[Any]]:
    """Who changes a service after an update of it failed, changes what serves: the update was refused, and told so."""
    serving = {row.name: row.key for row in rows if row.step == Step.LIVE.value}
    refused = [row.key for row in rows if row.step == Step.FAILED.value and serving.get(row.name, row.key) < row.key]
    retired = {"step": Step.RETIRED.value, "modified_ns": now_ns}
    tx.execute(update(service_versions).where(service_versions.c.key.in_(refused)).values(**retired))
    return [row for row in rows if row.key not in refused]


def mark(tx: Connection, row: Row[Any], name: str, flag: str) -> None:
    """One version at a time has it."""
    here = service_versions.c.service_id == row.service_id
    tx.execute(update(service_versions).where(here).values({flag: False}))
    tx.execute(update(service_versions).where(here, service_versions.c.name == name).values({flag: True}))


def _respecifies(wish: ServiceChange) -> bool:
    words = (wish.version_tags, wish.version_properties, wish.version_description)
    return wish.scaling is not None or bool(wish.settings) or any(word is not None for word in words)


def _respecified(spec: VersionSpec, wish: ServiceChange) -> VersionSpec:
    scaling = spec.scaling
    if wish.scaling is not None:
        given = {key: value for key, value in to_json(wish.scaling).items() if value is not None}
        scaling = replace(scaling, **given)
        if wish.scaling.replicas is not None:  # a number that is fixed ends what grows by itself, and the reverse
            scaling = replace(scaling, autoscale=None, min_replicas=None, max_replicas=None)
        elif wish.scaling.autoscale:
            scaling = replace(scaling, replicas=None)
    described = wish.version_description if wish.version_description is not None else spec.description
    return replace(
        spec,
        scaling=scaling,
        description=described,
        tags=wish.version_tags if wish.version_tags is not None else spec.tags,
        properties={**spec.properties, **(wish.version_properties or {})},
        settings={**spec.settings, **wish.settings},
    )


def _same_work(one: VersionSpec, other: VersionSpec) -> bool:
    """Whether only words about it differ."""
    bare: dict[str, Any] = {"tags": {}, "properties": {}, "description": None, "settings": {}}
    return replace(one, **bare) == replace(other, **bare)


def _merged(known: Row[Any] | None, wish: Share | None) -> Share:
    before = _share(known) if known is not None else Share(0, 0, False, False)
    given = {key: value for key, value in to_json(wish or Share()).items() if value is not None}
    return replace(before, **given)


def _share(row: Row[Any]) -> Share:
    return Share(row.traffic, row.mirror, row.is_default, row.is_control)


def known_version(service: str, there: dict[str, Row[Any]], name: str) -> Row[Any]:
    if name not in there:
        raise ServiceRefused(
            f"{service} has no version {name} (it has: {', '.join(there) or 'none'}). Name one of them."
        )
    return there[name]
