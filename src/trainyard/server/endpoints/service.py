"""What users do with services: deploy, change, look up, delete. Wishes are written here; the keeper makes them true."""

from __future__ import annotations

import hashlib
import secrets as random
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, Row, delete, insert, select, update

from trainyard.contract.endpoints import (
    Certificate,
    NewKey,
    NewService,
    OperationState,
    ServiceChange,
    ServiceKeys,
    ServiceKind,
    ServiceQuery,
    ServiceRecord,
    ServiceToken,
    Share,
    VersionSpec,
)
from trainyard.contract.errors import ServiceRefused, WebserviceExists
from trainyard.contract.names import new_id
from trainyard.contract.serving import Auth, ServiceState
from trainyard.server.context import Context
from trainyard.server.endpoints import certificates, checks
from trainyard.server.endpoints.decide import SECOND, Step, check_shares
from trainyard.server.endpoints.records import (
    current,
    find_service,
    service_row,
    spec_of,
    to_records,
    version_rows,
)
from trainyard.server.endpoints.tables import images, service_tokens, service_versions, services
from trainyard.server.endpoints.versions import (
    PLAIN,
    add_revision,
    change_versions,
    known_version,
    mark,
    touch,
)
from trainyard.server.registry.service import has_labels
from trainyard.server.secrets import Secrets

TOKEN_S = 12 * 3600
_REFRESH_S = 6 * 3600
_KEYS = {"primary": "primary_key_secret", "secondary": "secondary_key_secret"}


def create(context: Context, tx: Connection, workspace_id: str, principal: str, new: NewService) -> ServiceRecord:
    """A new service; with `overwrite`, one of that name and kind gets the new version, without a failed request."""
    checks.check_new(tx, workspace_id, new)
    check_shares({new.version_name or PLAIN: new.share})
    if new.certificate is not None:
        certificates.check(new.certificate, context.clock())
    there = find_service(tx, workspace_id, new.name)
    if there is not None and there.request == new.request_id:
        return to_records(tx, [there])[0]
    if there is not None and not new.overwrite:
        raise WebserviceExists(new.name)
    spec = checks.checked_version(context, tx, workspace_id, new.version)
    if there is not None and _may_go_on(there, new):
        return _overwritten(context, tx, principal, there, new, spec)
    if there is not None:
        remove(tx, there, context.clock())
    if there is None or there.port != new.port:
        checks.check_port_free(context, new.port)
    now, keeper = context.clock(), Secrets.of_home(context.settings)
    row: dict[str, Any] = {
        "service_id": new_id(),
        "workspace_id": workspace_id,
        "created_by": principal,
        "name": new.name,
        "kind": new.kind.value,
        "request": new.request_id,
        "state": ServiceState.TRANSITIONING.value,
        "operation": OperationState.RUNNING.value,
        "generation": 1,
        "auth": new.auth.value,
        "primary_key_secret": keeper.encrypt(new.primary_key or new_key()),
        "secondary_key_secret": keeper.encrypt(new.secondary_key or new_key()),
        "port": new.port,
        "target": new.target,
        "namespace": new.namespace,
        "collect": new.collect,
        "description": new.description,
        "tags": dict(new.tags),
        "properties": dict(new.properties),
        "warnings": [],
        "deleting": False,
        "created_ns": now,
        "modified_ns": now,
        **_certified(context, new.certificate),
    }
    made = tx.execute(insert(services).values(**row).returning(*services.c)).one()
    share = replace(new.share, is_default=True, is_control=True)  # the first of an endpoint is both
    add_revision(tx, made, principal, new.version_name or PLAIN, spec, share, now)
    return to_records(tx, [made])[0]


def change(
    context: Context, tx: Connection, workspace_id: str, principal: str, name: str, wish: ServiceChange
) -> ServiceRecord:
    row = service_row(tx, workspace_id, name)
    is_endpoint = row.kind == ServiceKind.ENDPOINT.value
    if wish.version_name is not None and not is_endpoint:
        raise ServiceRefused(f"{name} is no AksEndpoint, so it has no versions to name. Leave version_name out.")
    change_versions(context, tx, principal, row, wish)
    if wish.port:
        checks.check_port_free(context, 0 if wish.port == row.port else wish.port)
    tags = row.tags if wish.tags is None else wish.tags
    kept = {key: value for key, value in tags.items() if key not in wish.remove_tags}
    if wish.certificate is not None:
        if row.chain is None:
            raise ServiceRefused(
                f"{name} was deployed to answer plain http. Deploy it again, with overwrite=True and ssl_enabled=True."
            )
        certificates.check(wish.certificate, context.clock())
    given = {
        "description": wish.description,
        "auth": wish.auth.value if wish.auth is not None else None,
        "collect": wish.collect,
        "port": wish.port,
        "namespace": wish.namespace,
    }
    touch(
        tx,
        row,
        context.clock(),
        tags={**kept, **wish.add_tags},
        properties={**row.properties, **(wish.properties or {})},
        **{key: value for key, value in given.items() if value is not None},
        **_certified(context, wish.certificate),
    )
    return get(context, tx, workspace_id, name)


def get(context: Context, tx: Connection, workspace_id: str, name: str) -> ServiceRecord:
    return to_records(tx, [service_row(tx, workspace_id, name)], context.settings.advertised)[0]


def list_services(context: Context, tx: Connection, workspace_id: str, query: ServiceQuery) -> list[ServiceRecord]:
    here = (services.c.workspace_id == workspace_id) & services.c.deleting.is_(False)
    if query.kind is not None:
        here &= services.c.kind == query.kind.value
    rows = tx.execute(select(services).where(here).order_by(services.c.created_ns)).all()
    rows = [row for row in rows if has_labels(row.tags, query.tags) and has_labels(row.properties, query.properties)]
    records = to_records(tx, rows, context.settings.advertised)
    return [record for record in records if _has_model(record, query) and _of_image(record, query.image_id)]


def services_with(tx: Connection, workspace_id: str, model_id: str) -> list[str]:
    """The services that have this version of a model."""
    here = (services.c.workspace_id == workspace_id) & services.c.deleting.is_(False)
    named = {row.service_id: row.name for row in tx.execute(select(services).where(here))}
    over = (Step.RETIRED, Step.FAILED)
    rows = [row for row in version_rows(tx, named) if Step(row.step) not in over]
    return sorted({named[row.service_id] for row in rows if model_id in _models(spec_of(row))})


def all_active(tx: Connection) -> list[str]:
    """The names of services that are there, in every workspace."""
    return sorted(tx.execute(select(services.c.name).where(services.c.deleting.is_(False))).scalars())


def any_serving(tx: Connection) -> bool:
    """Whether there is a service whose front has to be watched."""
    here = services.c.deleting.is_(True) | (services.c.state != ServiceState.FAILED.value)
    return tx.execute(select(services.c.service_id).where(here).limit(1)).first() is not None


def delete_service(context: Context, tx: Connection, workspace_id: str, name: str) -> str:
    """Its name is free at once; its processes end soon. Answers its id."""
    row = service_row(tx, workspace_id, name)
    remove(tx, row, context.clock())
    return str(row.service_id)


def delete_version(context: Context, tx: Connection, workspace_id: str, name: str, version: str) -> ServiceRecord:
    row = service_row(tx, workspace_id, name)
    there = current(version_rows(tx, [row.service_id]))
    known = known_version(name, there, version)
    if len(there) == 1:
        raise ServiceRefused(f"{version} is the only version of {name}. Delete the endpoint to end it.")
    here = (service_versions.c.service_id == row.service_id) & (service_versions.c.name == version)
    tx.execute(update(service_versions).where(here).values(step=Step.RETIRED.value, modified_ns=context.clock()))
    rest = [key for key in there if key != version]
    for flag in ("is_default", "is_control"):
        if getattr(known, flag):  # somebody has to be it
            mark(tx, row, rest[0], flag)
    touch(tx, row, context.clock())
    return get(context, tx, workspace_id, name)


def keys_of(context: Context, tx: Connection, workspace_id: str, name: str) -> ServiceKeys:
    row, keeper = service_row(tx, workspace_id, name), Secrets.of_home(context.settings)
    return ServiceKeys(keeper.decrypt(row.primary_key_secret), keeper.decrypt(row.secondary_key_secret))


def set_key(context: Context, tx: Connection, workspace_id: str, name: str, new: NewKey) -> ServiceKeys:
    row = service_row(tx, workspace_id, name)
    if (column := _KEYS.get(new.which.lower())) is None:
        raise ServiceRefused(f"{new.which!r} is neither 'Primary' nor 'Secondary'. Say which key to make anew.")
    checks.check_key("set_key", new.key)
    token = Secrets.of_home(context.settings).encrypt(new.key or new_key())
    touch(tx, row, context.clock(), **{column: token})
    return keys_of(context, tx, workspace_id, name)


def new_token(context: Context, tx: Connection, workspace_id: str, principal: str, name: str) -> ServiceToken:
    row = service_row(tx, workspace_id, name)
    if row.auth != Auth.TOKEN.value:
        raise ServiceRefused(f"Tokens are not enabled for {name}. Update it with token_auth_enabled=True first.")
    now = context.clock()
    tx.execute(delete(service_tokens).where(service_tokens.c.expires_ns < now))
    token, expires = random.token_urlsafe(32), now + TOKEN_S * SECOND
    owner = {"workspace_id": workspace_id, "created_by": principal, "service_id": row.service_id}
    tx.execute(insert(service_tokens).values(digest=digest_of(token), expires_ns=expires, **owner))
    touch(tx, row, now)
    return ServiceToken(token, now + _REFRESH_S * SECOND, expires)


def tokens_of(tx: Connection, service_id: str, now_ns: int) -> dict[str, int]:
    here = (service_tokens.c.service_id == service_id) & (service_tokens.c.expires_ns > now_ns)
    return {row.digest: row.expires_ns for row in tx.execute(select(service_tokens).where(here))}


def new_key() -> str:
    return random.token_urlsafe(24)


def digest_of(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def remove(tx: Connection, row: Row[Any], now_ns: int) -> None:
    here = services.c.service_id == row.service_id
    gone = {"name": f"{row.name} deleted {row.service_id}", "deleting": True, "modified_ns": now_ns}
    tx.execute(update(services).where(here).values(generation=services.c.generation + 1, **gone))


def remove_all(tx: Connection, workspace_id: str, now_ns: int) -> None:
    """The workspace goes, and all its services with it."""
    here = (services.c.workspace_id == workspace_id) & services.c.deleting.is_(False)
    for row in tx.execute(select(services).where(here)).all():
        remove(tx, row, now_ns)
    tx.execute(delete(images).where(images.c.workspace_id == workspace_id))


def _may_go_on(there: Row[Any], new: NewService) -> bool:
    """Whether the front of the service that is there can serve the new one too, at the address that it has."""
    same_scheme = (there.chain is None) == (new.certificate is None)
    return there.kind == new.kind.value and new.kind is not ServiceKind.ENDPOINT and same_scheme


def _certified(context: Context, given: Certificate | None) -> dict[str, Any]:
    return certificates.columns(given, Secrets.of_home(context.settings)) if given is not None else {}


def _overwritten(
    context: Context, tx: Connection, principal: str, row: Row[Any], new: NewService, spec: VersionSpec
) -> ServiceRecord:
    now, keeper = context.clock(), Secrets.of_home(context.settings)
    checks.check_port_free(context, 0 if new.port == row.port else new.port)
    add_revision(tx, row, principal, PLAIN, spec, Share(is_default=True, is_control=True), now)
    keys = {"primary": new.primary_key, "secondary": new.secondary_key}
    touch(
        tx,
        row,
        now,
        request=new.request_id,
        auth=new.auth.value,
        collect=new.collect,
        target=new.target,
        namespace=new.namespace,
        description=new.description,
        tags=dict(new.tags),
        properties=dict(new.properties),
        port=new.port or row.port,
        error=None,
        **_certified(context, new.certificate),
        **{_KEYS[which]: keeper.encrypt(key) for which, key in keys.items() if key is not None},
    )
    return get(context, tx, row.workspace_id, new.name)


def _models(spec: VersionSpec) -> set[str]:
    return {f"{model.name}:{model.version}" for model in spec.models}


def _has_model(record: ServiceRecord, query: ServiceQuery) -> bool:
    models = [model for version in record.versions for model in version.spec.models]
    named = query.model_name is None or any(model.name == query.model_name for model in models)
    return named and (query.model_id is None or any(f"{it.name}:{it.version}" == query.model_id for it in models))


def _of_image(record: ServiceRecord, image_id: str | None) -> bool:
    return image_id is None or any(version.spec.settings.get("image_id") == image_id for version in record.versions)
