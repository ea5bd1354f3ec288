"""The environment of a job's process: explicit, from one pure function. Nothing of the agent's own slips in."""

from __future__ import annotations

import os
import re
import urllib.parse
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from trainyard.contract.attempts import ATTEMPT_VARIABLE, JOB_CONTEXT_VARIABLE, AgentOrder, Orders
from trainyard.contract.environments import SHIMS_AUTO, SHIMS_OFF, SHIMS_VARIABLE
from trainyard.contract.mlflow import plain_uri
from trainyard.contract.runs import RunSpec
from trainyard.launchers.base import Process

SHIMS_START = os.path.join("trainyard", "shims", "startup")  # below the overlay: Python runs what is in it first
_PROXIES = ("http_proxy", "https_proxy", "all_proxy", "grpc_proxy")
_REFERENCE = re.compile(r"\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)\})")


@dataclass(frozen=True)
class Scene:
    """What a node knows about where a process runs."""

    service_url: str
    working: str
    overlay: str
    interpreter: str
    job_context: str  # path of the process's JobContext file
    shares_home: bool
    variables: Mapping[str, str] = field(default_factory=dict)  # what the built environment itself needs
    data: Mapping[str, str] = field(default_factory=dict)  # where the run's inputs and outputs are


def of_process(order: AgentOrder, orders: Orders, spec: RunSpec, process: Process, scene: Scene) -> dict[str, str]:
    """Later ones win: the launcher's defaults, what was inherited, the environment's, the run's, Azure's, ours, and the
    launcher's own."""
    variables = {**process.defaults, **spec.inherited, **scene.variables, **spec.environment.variables}
    variables |= spec.variables
    variables |= _past_proxies(variables, orders, scene)
    shims = shims_of(spec, variables)
    variables.pop(SHIMS_VARIABLE, None)
    variables["PATH"] = _with_interpreter(variables.get("PATH", os.defpath), scene.interpreter)
    path = [os.path.join(scene.overlay, SHIMS_START)] if shims else []
    path += [part for part in (scene.overlay, variables.get("PYTHONPATH")) if part]
    variables["PYTHONPATH"] = os.pathsep.join(path)
    if shims:
        variables[SHIMS_VARIABLE] = shims
    variables["PYTHONUNBUFFERED"] = "1"
    taken = _not_for_data(variables)
    variables |= {name: value for name, value in scene.data.items() if name not in taken}
    variables |= _azures(order, orders, spec, scene)
    if "MLFLOW_TRACKING_URI" not in variables:  # whoever names another tracker means it
        variables |= _mlflows(order, orders, scene)
    variables[ATTEMPT_VARIABLE] = order.attempt_id
    variables[JOB_CONTEXT_VARIABLE] = scene.job_context
    if scene.shares_home:
        variables["TRAINYARD_HOME"] = order.home
    if orders.gpus:
        variables["CUDA_VISIBLE_DEVICES"] = ",".join(orders.gpus)
    return variables | process.variables


def shims_of(spec: RunSpec, variables: Mapping[str, str]) -> str:
    """Which helpers for old scripts are switched on: "" for none, "auto", or names with commas between. What the
    environment says counts; else whether pins may be replaced, or a framework was (the built environment says so)."""
    python = spec.environment.definition.get("python") or {}
    said = python.get("shims")
    if said is not None:
        return "" if said == SHIMS_OFF else str(said)
    if spec.relax_pins or python.get("relaxPins"):
        return SHIMS_AUTO
    return variables.get(SHIMS_VARIABLE, "") or ("addresses" if variables.get("TRAINYARD_URL_MAP") else "")


def expand(arguments: Iterable[str], variables: Mapping[str, str]) -> list[str]:
    """`$NAME` and `${NAME}` of variables that exist; any other text stays as it is."""

    def value(found: re.Match[str]) -> str:
        return variables.get(found[1] or found[2], found[0])

    return [_REFERENCE.sub(value, argument) for argument in arguments]


def _past_proxies(variables: Mapping[str, str], orders: Orders, scene: Scene) -> dict[str, str]:
    """A proxy is the way out: the service and the other nodes are not behind it. Programs read either spelling."""
    if not any(variables.get(name) or variables.get(name.upper()) for name in _PROXIES):
        return {}
    said = variables.get("no_proxy") or variables.get("NO_PROXY") or ""
    hosts = ["localhost", "127.0.0.1", urllib.parse.urlsplit(scene.service_url).hostname or ""]
    hosts += [host for peer in orders.peers for host in (peer.address, peer.host)]
    known = {part.strip() for part in said.split(",")}
    if "*" in known:
        return {}
    whole = ",".join(filter(None, [said, *dict.fromkeys(host for host in hosts if host not in known)]))
    return {"no_proxy": whole, "NO_PROXY": whole}


def _not_for_data(variables: Mapping[str, str]) -> set[str]:
    """What an input that is named like it must not change: `path` would be PATH to every program."""
    return {name for name in variables if not name.startswith("AZUREML_")}


def _azures(order: AgentOrder, orders: Orders, spec: RunSpec, scene: Scene) -> dict[str, str]:
    workspace = (
        f"/subscriptions/{orders.subscription_id}/resourceGroups/{orders.resource_group}"
        f"/providers/Microsoft.MachineLearningServices/workspaces/{orders.workspace_name}"
    )
    definition = spec.definition
    return {
        "AZUREML_ARM_SUBSCRIPTION": orders.subscription_id,
        "AZUREML_ARM_RESOURCEGROUP": orders.resource_group,
        "AZUREML_ARM_WORKSPACE_NAME": orders.workspace_name,
        "AZUREML_ARM_PROJECT_NAME": orders.experiment,
        "AZUREML_RUN_ID": orders.run_id,
        "AZUREML_RUN_TOKEN": order.token,
        "AZUREML_RUN_TOKEN_EXPIRY": str(orders.deadline_ns // 1_000_000_000),
        "AZUREML_SERVICE_ENDPOINT": scene.service_url,
        "AZUREML_DISCOVERY_SERVICE_ENDPOINT": scene.service_url,
        "AZUREML_RUN_HISTORY_SERVICE_ENDPOINT": scene.service_url,
        "AZUREML_EXPERIMENT_ID": orders.experiment_id,
        "AZUREML_WORKSPACE_ID": orders.workspace_id,
        "AZUREML_WORKSPACE_SCOPE": workspace,
        "AZUREML_EXPERIMENT_SCOPE": f"{workspace}/experiments/{orders.experiment}",
        "AZUREML_FRAMEWORK": str(definition.get("framework") or "Python"),
        "AZUREML_COMMUNICATOR": str(definition.get("communicator") or "None"),
        "AZUREML_TARGET_TYPE": orders.target_kind,
        "AZUREML_OUTPUT_DIRECTORY": os.path.join(scene.working, "outputs"),
        "AZUREML_LOGDIRECTORY_PATH": os.path.join(scene.working, "logs"),
        "AZUREML_SCRIPT_DIRECTORY_NAME": scene.working,
        "AZUREML_IDENTITY_IN_USE": "UserIdentity",
    }


def _mlflows(order: AgentOrder, orders: Orders, scene: Scene) -> dict[str, str]:
    """So that `mlflow.start_run()` in a script attaches to this run."""
    return {
        "MLFLOW_TRACKING_URI": plain_uri(scene.service_url, orders.workspace_id),
        "MLFLOW_TRACKING_TOKEN": order.token,
        "MLFLOW_EXPERIMENT_ID": orders.experiment_id,
        "MLFLOW_EXPERIMENT_NAME": orders.experiment,
        "MLFLOW_RUN_ID": orders.run_id,
    }


def _with_interpreter(path: str, interpreter: str) -> str:
    """So that `python` in a command, or started by a script, is the environment's."""
    folder = os.path.dirname(interpreter)
    return path if folder in path.split(os.pathsep) else folder + os.pathsep + path
