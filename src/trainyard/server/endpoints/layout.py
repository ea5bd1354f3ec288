"""A revision on the disk: code, models and interpreter, all there before the front hears of it.

<home>/services/<service>/versions/<revision's key>/app is the working folder of its workers: the scoring code, and
below azureml-models/<name>/<version> the models, as scoring scripts know them from Azure. Everything is checked by its
digest while it is laid out."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import replace

from trainyard.blobs.base import BlobStore
from trainyard.blobs.snapshot import materialise
from trainyard.contract.endpoints import CodeSpec, ModelRef, ServiceKind, VersionSpec
from trainyard.contract.environments import SHIMS_AUTO, SHIMS_OFF, SHIMS_VARIABLE
from trainyard.contract.models import Resources
from trainyard.contract.names import check_name
from trainyard.contract.runs import EnvironmentSpec
from trainyard.contract.serving import Scorer, ScorerKind
from trainyard.environments.realize import Realized, realize
from trainyard.server.context import Context
from trainyard.server.credentials import opened_environment
from trainyard.server.endpoints.decide import workers_of
from trainyard.server.secrets import Secrets

MODELS = "azureml-models"
_BATCH = 32  # requests that wait at the same moment share a call of a model without code; none waits for others


def service_folder(home: str, service_id: str) -> str:
    return os.path.join(home, "services", service_id)


def revision_folder(home: str, service_id: str, key: int) -> str:
    return os.path.join(service_folder(home, service_id), "versions", str(key))


def lay_out(store: BlobStore, spec: VersionSpec, folder: str) -> str:
    """Makes `folder` with all of it, at once or not at all; answers what AZUREML_MODEL_DIR is to hold."""
    aside = f"{folder}.new"
    shutil.rmtree(aside, ignore_errors=True)
    app = os.path.join(aside, "app")
    os.makedirs(app, mode=0o700)
    if spec.code is not None:
        materialise(store, spec.code.content, app)
    for model in spec.models:
        at = os.path.join(app, model_path(model))
        assert model.content is not None
        materialise(store, model.content, at)
    shutil.rmtree(folder, ignore_errors=True)
    os.rename(aside, folder)
    return models_folder(spec, folder)


def models_folder(spec: VersionSpec, folder: str) -> str:
    """One model: its own folder; several: the one above all of them."""
    below = model_path(spec.models[0]) if len(spec.models) == 1 else MODELS
    return os.path.join(folder, "app", below)


def model_path(model: ModelRef) -> str:
    return os.path.join(MODELS, check_name("a model", model.name), str(model.version))


def realized(context: Context, environment: EnvironmentSpec, *, relax: bool, log: Callable[[str], None]) -> Realized:
    variables = context.settings.variables
    return realize(
        opened_environment(environment, Secrets.of_home(context.settings)),
        context.settings.home,
        variables.get("PATH", os.defpath),
        log,
        relax=relax,
        variables=variables,
        read_lock=context.blobs.read,
    )


def scorer_of(
    spec: VersionSpec,
    version: str,
    revision: int,
    folder: str,
    found: Realized,
    kind: ScorerKind,
    model_below: str | None,
    names: Mapping[str, str],
    resources: Resources | None,
    service_kind: ServiceKind,
    cores: int,
) -> Scorer:
    """What the front is told of it. `model_below` is the path of the one model's file or folder inside the model."""
    app = os.path.join(folder, "app")
    models = models_folder(spec, folder)
    least, most = workers_of(spec.scaling, resources, service_kind, cores)
    variables = dict(found.variables)
    entry = None
    if spec.code is not None:
        shims = _shims(spec.code, found)
        variables |= {**spec.code.environment.variables, **({SHIMS_VARIABLE: shims} if shims else {})}
        entry = spec.code.entry_script
        variables["AZUREML_ENTRY_SCRIPT"] = entry
    variables |= {"AZUREML_SOURCE_DIRECTORY": app, "AML_APP_ROOT": app, "WORKER_COUNT": str(least), **names}
    scaling = spec.scaling
    scorer = Scorer(
        version=version,
        interpreter=found.interpreter,
        models=models,
        kind=kind,
        source=app,
        entry_script=entry,
        model_path=os.path.join(models, model_below) if model_below is not None else None,
        variables=variables,
        workers=least,
        most_workers=most,
        target=(scaling.target_utilization or 70) / 100,
        refresh_s=scaling.refresh_s or 1,
        threads=max(1, scaling.concurrent_requests or 1),
        batch=max(1, scaling.batch or (_BATCH if spec.code is None else 1)),
        batch_wait_ms=scaling.batch_wait_ms or 0.0,
        smoke=spec.sample,
        # what a framework takes for itself is no fault of the model: only scripts are held to what was asked for them
        memory_mb=int((scaling.memory_gb or 0) * 1024) if spec.code is not None else 0,
        revision=revision,
    )
    return replace(scorer, model_path=os.path.normpath(scorer.model_path) if scorer.model_path else None)


def _shims(code: CodeSpec, found: Realized) -> str:
    """Which helpers for old scripts are switched on, as for jobs: what the environment says, else those that go with
    replaced versions."""
    said = (code.environment.definition.get("python") or {}).get("shims")
    if said is not None:
        return "" if said == SHIMS_OFF else str(said)
    return SHIMS_AUTO if code.relax_pins else found.variables.get(SHIMS_VARIABLE, "")


def front_variables(variables: Mapping[str, str], home: str) -> dict[str, str]:
    """What a front is started with: what finds programs and caches, and the home with our code for its workers."""
    return {**variables, "TRAINYARD_HOME": home}
