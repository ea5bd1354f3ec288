"""What is refused before a deployment is accepted: everything that can be known then."""

from __future__ import annotations

import math
import posixpath
import re
import socket
from collections.abc import Callable
from dataclasses import replace
from typing import IO

from sqlalchemy import Connection

from trainyard.blobs.snapshot import read_manifest
from trainyard.blobs.trees import Entry
from trainyard.contract.endpoints import ModelRef, NewService, Scaling, VersionSpec
from trainyard.contract.errors import ServiceRefused
from trainyard.contract.models import ModelRecord
from trainyard.contract.names import check_file_name, check_name
from trainyard.environments.specification import parse
from trainyard.server.computes import service as computes
from trainyard.server.context import Context
from trainyard.server.credentials import sealed_environment
from trainyard.server.endpoints import nocode
from trainyard.server.registry import service as registry
from trainyard.server.secrets import Secrets

MOST_PORT = 65_535
_KEY = re.compile(r"[!-~]{16,256}")  # what a header can hold


def check_new(tx: Connection, workspace_id: str, new: NewService) -> None:
    check_name("a service", new.name)
    if new.version_name is not None:
        check_name("a version of an endpoint", new.version_name)
    for which, key in (("primary_key", new.primary_key), ("secondary_key", new.secondary_key)):
        check_key(which, key)
    if new.target is not None:
        kind = computes.kind_of(tx, workspace_id, new.target)
        if kind != "AKS":
            raise ServiceRefused(
                f"The compute target {new.target} is of the kind {kind}, which runs jobs. Deploy to an AksCompute, or "
                "leave deployment_target out."
            )
    if new.namespace is not None and not re.fullmatch(r"[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?", new.namespace):
        raise ServiceRefused(
            f"{new.namespace!r} cannot be a namespace: up to 63 lower-case letters, digits and '-'. Choose another."
        )
    if not 0 <= new.port <= MOST_PORT:
        raise ServiceRefused(f"{new.port} is no port: give a number from 1 to {MOST_PORT}, or none for a free one.")


def check_key(which: str, key: str | None) -> None:
    if key is not None and not _KEY.fullmatch(key):
        raise ServiceRefused(
            f"{which} is not one that can be used: 16 to 256 letters, digits and signs, without blanks. Leave it out "
            "to have one made."
        )


def check_port_free(context: Context, port: int) -> None:
    if port:
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((context.settings.services_host, port))
            except OSError as error:
                raise ServiceRefused(
                    f"Port {port} is taken by another program ({error.strerror}). Choose another one, or leave it out "
                    "and a free one is taken."
                ) from error


def checked_version(context: Context, tx: Connection, workspace_id: str, spec: VersionSpec) -> VersionSpec:
    """With the models' content filled in; ServiceRefused or ModelRefused if it could never be served."""
    check_scaling(spec.scaling)
    resolved = tuple(_resolved(tx, workspace_id, model) for model in spec.models)
    names = [model.name for model in resolved]
    if len(set(names)) != len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ServiceRefused(f"The model {twice} is there twice; a service has one version of each. Leave one out.")
    spec = replace(spec, models=resolved)
    if spec.code is None:
        recognised(context, tx, workspace_id, spec)
        return spec
    entries = {entry.path for entry in read_manifest(context.blobs, spec.code.content)}
    if check_file_name(spec.code.entry_script) not in entries:
        raise ServiceRefused(
            f"The entry script {spec.code.entry_script} is not among the files that came with it. Give its path below "
            "source_directory."
        )
    if not spec.code.environment.user_managed:
        parse(spec.code.environment.definition, relax=spec.code.relax_pins)
    environment = sealed_environment(spec.code.environment, Secrets.of_home(context.settings))
    spec = replace(spec, code=replace(spec.code, environment=environment))
    for model in resolved:
        read_manifest(context.blobs, str(model.content))
    return spec


def recognised(
    context: Context, tx: Connection, workspace_id: str, spec: VersionSpec
) -> tuple[ModelRecord, nocode.NoCode]:
    """The one model that is served without code, and what serves it."""
    if len(spec.models) != 1:
        raise ServiceRefused(
            f"Without an inference_config a service has exactly one model, not {len(spec.models)}. Give one model, or "
            "an InferenceConfig with a scoring script."
        )
    model = spec.models[0]
    if model.version == 0:
        raise ServiceRefused(
            "Files can be deployed without registering them only with an inference_config. Register the model with its "
            "model_framework, or pass one."
        )
    record = registry.get(tx, workspace_id, f"{model.name}:{model.version}")
    entries = {entry.path: entry for entry in read_manifest(context.blobs, record.content) if entry.link is None}
    found = nocode.recognise(
        record, list(entries), _opener(context, entries), allow_pickle=context.settings.allow_pickle
    )
    return record, found


def versioned(context: Context, record: ModelRecord, found: nocode.NoCode) -> nocode.NoCode:
    """With what takes too long for a transaction."""
    entries = {entry.path: entry for entry in read_manifest(context.blobs, record.content) if entry.link is None}
    return nocode.versioned(found, _opener(context, entries))


def check_scaling(scaling: Scaling) -> None:
    counts = ("replicas", "min_replicas", "max_replicas", "concurrent_requests", "batch", "refresh_s")
    whole = ("gpu_cores", "queue", "init_timeout_s", "target_utilization", *counts)
    for name in ("cpu_cores", "memory_gb", "timeout_ms", *whole):
        value = getattr(scaling, name)
        least = 0 if name in ("gpu_cores", "queue", "init_timeout_s") else 1 if name in whole else 0.001
        if value is not None and not (math.isfinite(value) and least <= value <= 10**9):
            raise ServiceRefused(f"{name} is {value}; give a number of at least {least:g}, or leave it out.")
    if scaling.target_utilization is not None and scaling.target_utilization > 100:
        raise ServiceRefused(
            f"autoscale_target_utilization is {scaling.target_utilization} per cent; give a number from 1 to 100."
        )
    if scaling.min_replicas and scaling.max_replicas and scaling.min_replicas > scaling.max_replicas:
        raise ServiceRefused(
            f"autoscale_min_replicas is {scaling.min_replicas} and autoscale_max_replicas {scaling.max_replicas}. Give "
            "a maximum that is not below the minimum."
        )
    if scaling.autoscale and scaling.replicas:
        raise ServiceRefused(
            "num_replicas fixes their number and autoscale_enabled lets it change. Give one of the two."
        )


def _resolved(tx: Connection, workspace_id: str, model: ModelRef) -> ModelRef:
    check_name("a model", model.name)
    if model.version == 0:
        if model.content is None:
            raise ServiceRefused(f"The model {model.name} came without content. Register it, or give its path.")
        return model
    record = registry.get(tx, workspace_id, f"{model.name}:{model.version}")
    return ModelRef(record.name, record.version, record.content)


def _opener(context: Context, entries: dict[str, Entry]) -> Callable[[str], IO[bytes]]:
    return lambda path: context.blobs.peek(entries[posixpath.normpath(path)].digest)
