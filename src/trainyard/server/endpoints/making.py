"""Makes one revision ready to be tried: its environment, its files on the disk, and what the front is told of it."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Row

from trainyard.contract.endpoints import ServiceKind, VersionSpec
from trainyard.contract.errors import TrainyardError
from trainyard.contract.models import Lineage, ModelRecord, Resources
from trainyard.contract.runs import EnvironmentSpec
from trainyard.contract.serving import LOG_FILE, Scorer, ScorerKind
from trainyard.environments.pythons import distributions_in
from trainyard.server.context import Context
from trainyard.server.endpoints import checks, layout, nocode
from trainyard.server.endpoints.records import spec_of
from trainyard.server.endpoints.versions import PLAIN
from trainyard.server.registry import service as registry
from trainyard.server.workspaces import service as workspaces


@dataclass(frozen=True)
class Made:
    scorer: Scorer
    fingerprint: str | None  # of the built environment
    hold: int | None  # nobody removes that environment while this descriptor is open
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Way:
    """What a revision is run with."""

    environment: EnvironmentSpec
    kind: ScorerKind = ScorerKind.SCRIPT
    model_below: str | None = None
    relax: bool = False
    warnings: tuple[str, ...] = ()


def make(context: Context, service: Row[Any], version: Row[Any]) -> Made:
    """Slow: it may build an environment and copy a model. TrainyardError says why it cannot be made."""
    spec = spec_of(version)
    home = context.settings.home
    log_path = os.path.join(layout.service_folder(home, service.service_id), LOG_FILE)
    os.makedirs(os.path.dirname(log_path), mode=0o700, exist_ok=True)
    with open(log_path, "a", encoding="utf-8", errors="replace") as log:

        def say(line: str) -> None:
            log.write(f"{line}\n")
            log.flush()

        try:
            return _make(context, service, version, spec, say)
        except TrainyardError as error:
            say(error.message)
            raise


def _make(
    context: Context, service: Row[Any], version: Row[Any], spec: VersionSpec, say: Callable[[str], None]
) -> Made:
    home = context.settings.home
    way, resources = _way(context, service.workspace_id, spec)
    found = layout.realized(context, way.environment, relax=way.relax, log=say)
    folder = layout.revision_folder(home, service.service_id, version.key)
    if not os.path.isdir(folder):
        layout.lay_out(context.blobs, spec, folder)
    is_endpoint = service.kind == ServiceKind.ENDPOINT.value
    scorer = layout.scorer_of(
        spec,
        version.name if is_endpoint or version.name != PLAIN else str(version.revision),
        version.revision,
        folder,
        found,
        way.kind,
        way.model_below,
        _names(context, service) | _gpus(context, spec, resources),
        resources,
        ServiceKind(service.kind),
        context.machine.cores,
    )
    fingerprint = os.path.basename(os.path.dirname(os.path.dirname(found.interpreter))) if found.hold else None
    return Made(scorer, fingerprint, found.hold, (*way.warnings, *_warnings(context, spec, resources)))


def _names(context: Context, service: Row[Any]) -> dict[str, str]:
    """What a scoring script may know of where it is."""
    with context.db.read() as tx:
        workspace = workspaces.get_workspace(tx, service.workspace_id)
    return {
        "SERVICE_NAME": service.name,
        "AZUREML_ARM_SUBSCRIPTION": workspace.subscription_id,
        "AZUREML_ARM_RESOURCEGROUP": workspace.resource_group,
        "AZUREML_ARM_WORKSPACE_NAME": workspace.name,
    }


def _way(context: Context, workspace_id: str, spec: VersionSpec) -> tuple[_Way, Resources | None]:
    with context.db.read() as tx:
        if spec.code is not None:
            resources = None
            if spec.models and spec.models[0].version:
                first = spec.models[0]
                resources = registry.get(tx, workspace_id, f"{first.name}:{first.version}").resources
            return _Way(spec.code.environment, relax=spec.code.relax_pins), resources
        model, found = checks.recognised(context, tx, workspace_id, spec)
    if (own := _of_training(context, model, found.kind)) is not None:
        return _Way(own, found.kind, found.path, relax=True), model.resources
    found = checks.versioned(context, model, found)
    made = EnvironmentSpec(name=f"no-code-{found.kind.value}", definition=nocode.environment_of(model, found))
    warnings = nocode.warnings_of(model, found)
    return _Way(made, found.kind, found.path, relax=True, warnings=warnings), model.resources


def _of_training(context: Context, model: ModelRecord, kind: ScorerKind) -> EnvironmentSpec | None:
    """The environment that the model was trained in, where it can serve it: exactly its versions, and there already."""
    lineage: Lineage | None = model.lineage
    if lineage is not None and lineage.interpreter is not None:
        own = EnvironmentSpec(lineage.environment or "training", user_managed=True, interpreter=lineage.interpreter)
        return own if nocode.serves(kind, distributions_in(lineage.interpreter)) else None
    if lineage is None or lineage.environment_lock is None or lineage.environment_fingerprint is None:
        return None
    try:
        lock = context.blobs.read(lineage.environment_lock).decode("utf-8", "replace")
    except TrainyardError:
        return None
    if not nocode.serves(kind, nocode.packages_in(lock)):
        return None
    return EnvironmentSpec(
        name=lineage.environment or "training",
        fingerprint=lineage.environment_fingerprint,
        lock=lineage.environment_lock,
        definition={"name": lineage.environment or "training", "python": {"lock": lineage.environment_lock}},
    )


def _gpus_wanted(spec: VersionSpec, resources: Resources | None) -> int:
    return int(spec.scaling.gpu_cores or (resources.gpu if resources else None) or 0)


def _gpus(context: Context, spec: VersionSpec, resources: Resources | None) -> dict[str, str]:
    """A service that asks for GPUs sees as many; one that does not sees what the machine has."""
    wanted, there = _gpus_wanted(spec, resources), context.machine.gpus
    return {"CUDA_VISIBLE_DEVICES": ",".join(there[:wanted])} if wanted and there else {}


def _warnings(context: Context, spec: VersionSpec, resources: Resources | None) -> tuple[str, ...]:
    wanted, there = _gpus_wanted(spec, resources), len(context.machine.gpus)
    if wanted <= there:
        return ()
    return (f"The service asks for {wanted} GPU(s) and this machine has {there}: it runs without what is missing.",)
