"""From a ScriptRunConfig to an accepted run: check everything that can be checked here, take the snapshot, ask once."""

from __future__ import annotations

import copy
import os
import sys
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from trainyard.contract.computes import ATTACHED_KIND
from trainyard.contract.errors import TooManyNodes
from trainyard.contract.names import new_run_id
from trainyard.contract.runs import LOCAL_TARGET, MAX_DURATION_S, EnvironmentSpec, NewRun, Role, RunSpec
from trainyard.sdk.computes.transient_cluster import DESCRIBED_TARGETS, ensure_cluster
from trainyard.sdk.effects import tell_once
from trainyard.sdk.environments.environment import Environment
from trainyard.sdk.environments.environment_sections import DEFAULT_INTERPRETER
from trainyard.sdk.errors import ExperimentExecutionException, UserErrorException, sdk_errors, translated
from trainyard.sdk.labels import as_tags
from trainyard.sdk.runs.run_data import check_can_travel, take_out
from trainyard.sdk.submitting.arguments import checked_arguments, checked_variables, passable, serialised
from trainyard.sdk.submitting.elastic import checked_limits, is_elastic
from trainyard.sdk.submitting.inherited import inherited_variables
from trainyard.sdk.submitting.preflight import check_environment, with_mpi
from trainyard.sdk.submitting.run_definition import to_definition

if TYPE_CHECKING:
    from trainyard.sdk.experiment import Experiment
    from trainyard.sdk.runs.run import Run
    from trainyard.sdk.submitting.runconfig import RunConfiguration
    from trainyard.sdk.submitting.runconfig_parts import DockerConfiguration
    from trainyard.sdk.submitting.script_run_config import ScriptRunConfig
    from trainyard.sdk.workspace import Workspace

_PROCESS_FILES = {
    "ProcessInfoFile": "azureml-logs/process_info.json",
    "ProcessStatusFile": "azureml-logs/process_status.json",
}
_LAUNCHERS = {
    "IntelMpi": "mpi",
    "OpenMpi": "mpi",
    "Mpi": "mpi",
    "ParameterServer": "tf_config",
    "Nccl": "torch",
    "Gloo": "torch",
}


@dataclass(frozen=True)
class Prepared:
    """A configuration that was checked and whose snapshot was taken."""

    spec: RunSpec
    source: str
    properties: dict[str, str]  # of every run that is made from it


def submit_script(
    experiment: Experiment, config: ScriptRunConfig, tags: dict[str, Any] | None, parent_run_id: str | None
) -> Run:
    from trainyard.sdk.runs.script_run import ScriptRun

    labels = as_tags(tags)
    prepared = prepare_script(experiment, config)
    new = NewRun(
        experiment=experiment.name,
        spec=prepared.spec,
        run_id=new_run_id(experiment.name, time.time()),
        parent_run_id=parent_run_id,
        tags=labels,
        properties=prepared.properties,
        params={str(name): str(value) for name, value in config._params.items()},
    )
    record = experiment.workspace._clients.runs.create(new)
    return ScriptRun(experiment, record.run_id, directory=prepared.source, _record=record)


def prepare_script(experiment: Experiment, config: ScriptRunConfig) -> Prepared:
    """Everything that comes before a run is asked for; a sweep asks for many with it."""
    run_config, source = checked(config)
    check_can_travel(experiment.workspace, [it.definition for it in run_config._run_inputs])
    kind = _check_target(experiment.workspace, run_config)
    snapshot_id, properties = take_snapshot(experiment.workspace, source)
    spec = run_spec(run_config, snapshot_id, dict(os.environ))
    if kind == ATTACHED_KIND.lower():
        spec = elsewhere(spec, run_config.environment.python.interpreter_path)
    elif experiment.workspace._connection.http.home is not None:  # its nodes are on this machine
        check_environment(spec, source)
    return Prepared(spec, source, {"_azureml.ComputeTargetType": kind, **_PROCESS_FILES, **properties})


def checked(config: ScriptRunConfig) -> tuple[RunConfiguration, str]:
    """What is to run, with the script and arguments of the config put into a copy of its run configuration, and the
    source directory. Everything a user can get wrong without asking the service is told here."""
    run_config = copy.copy(config.run_config)
    source = _source_directory(config.source_directory)
    run_config.command = config.command or (None if config.script else run_config.command)
    run_config.script = None if run_config.command else config.script or run_config.script
    arguments = checked_arguments(run_config.arguments if config.arguments is None else config.arguments)
    command = run_config.command
    words = checked_arguments(command, "command") if isinstance(command, list | tuple) else ()
    texts = take_out(run_config, [*words, *arguments])
    run_config.arguments = texts[len(words) :]
    if words:
        run_config.command = texts[: len(words)]
    if run_config.command is not None:
        run_config.command = _command(run_config.command)
    else:
        run_config.script = _script(source, run_config.script)
    if run_config.communicator == "ParameterServer":  # a TensorflowConfiguration's node_count is its worker_count
        _whole_number(run_config.tensorflow.worker_count, "worker_count")
    run_config.node_count = _whole_number(run_config.node_count, "node_count")
    _roles(run_config)
    if _launcher(run_config) == "torchrun":
        checked_limits(run_config.pytorch, run_config.node_count)
    if run_config.max_run_duration_seconds is not None:
        run_config.max_run_duration_seconds = _whole_number(
            run_config.max_run_duration_seconds, "max_run_duration_seconds"
        )
    if not isinstance(run_config.environment, Environment):
        raise UserErrorException(
            f"environment is a {type(run_config.environment).__name__}. Give it an Environment object."
        )
    run_config.environment_variables = checked_variables(run_config.environment_variables)
    checked_variables(run_config.environment.environment_variables)
    registry = run_config.environment.docker.base_image_registry
    if registry.password:
        tell_once(
            "base_image_registry: the password has no effect, it stays here. Run "
            f"`docker login {registry.address or ''}` on the machines that pull the image."
        )
    return run_config, source


def run_spec(config: RunConfiguration, snapshot_id: str, environ: dict[str, str]) -> RunSpec:
    """The record of a checked configuration. Pure: the world comes in through `environ`."""
    command = config.command if isinstance(config.command, str) else None
    if command is not None and config.arguments:
        import shlex

        command = f"{command} {shlex.join(config.arguments)}"
    elastic = _launcher(config) == "torchrun"
    limits = checked_limits(config.pytorch, config.node_count) if elastic else (0, 0)
    return RunSpec(
        target=config.target or LOCAL_TARGET,
        script=config.script,
        arguments=() if command is not None else tuple(config.arguments),
        command=command,
        nodes=config.node_count,
        min_nodes=limits[0],
        max_restarts=limits[1],
        launcher=_launcher(config) or "single",
        roles=(roles := _roles(config)),
        ports=_ports(config, roles),
        environment=_environment_spec(config.environment, config.docker, _launcher(config)),
        variables=config.environment_variables,
        inherited=inherited_variables(environ),
        snapshot_id=snapshot_id,
        max_duration_s=config.max_run_duration_seconds or MAX_DURATION_S,
        collect_outputs=bool(config.history.output_collection),
        watched=tuple(config.history.directories_to_watch or ()),
        relax_pins=environ.get("TRAINYARD_RELAX_PINS", "") not in ("", "0"),
        inputs=config._run_inputs,
        outputs=config._run_outputs,
        definition=to_definition(config),
    )


def elsewhere(spec: RunSpec, interpreter: str | None) -> RunSpec:
    """For a machine that is not this one: what finds programs here finds nothing there. Pure."""
    kept = {name: value for name, value in spec.inherited.items() if name in ("TZ", "LANG", "TRAINYARD_URL_MAP")}
    environment = spec.environment
    if environment.user_managed:
        environment = replace(environment, interpreter=interpreter or DEFAULT_INTERPRETER)
    return replace(spec, inherited=kept, environment=environment)


def take_snapshot(workspace: Workspace, source: str) -> tuple[str, dict[str, str]]:
    """Stores the folder, or the one file, as it is now; answers its id and the properties a run made from it has."""
    from trainyard.blobs.git import git_state
    from trainyard.blobs.snapshot import take

    if os.path.isfile(source):
        import shutil
        import tempfile

        with tempfile.TemporaryDirectory(prefix="trainyard-snapshot-") as alone:
            shutil.copy2(source, alone)
            snapshot_id, _ = take_snapshot(workspace, alone)
        return snapshot_id, {"ContentSnapshotId": snapshot_id, **git_state(os.path.dirname(os.path.abspath(source)))}
    connection = workspace._connection
    with sdk_errors():
        home = connection.http.home
        snapshot = take(source, connection.blobs(), connection.cache, [home.path] if home else [])
    for warning in snapshot.warnings:
        tell_once(warning)
    return snapshot.id, {"ContentSnapshotId": snapshot.id, **git_state(source)}


def _launcher(config: RunConfiguration) -> str | None:
    """None: one process on each node."""
    launcher = _LAUNCHERS.get(config.communicator)
    return "torchrun" if launcher == "torch" and is_elastic(config.pytorch) else launcher


def _roles(config: RunConfiguration) -> tuple[Role, ...]:
    """How many processes of each role the launcher is to start, over all nodes."""
    launcher, nodes = _launcher(config), config.node_count
    if launcher == "mpi":
        return (Role("worker", nodes * _whole_number(config.mpi.process_count_per_node, "process_count_per_node")),)
    if launcher == "tf_config":
        workers = _whole_number(config.tensorflow.worker_count, "worker_count")
        servers = _whole_number(config.tensorflow.parameter_server_count, "parameter_server_count", least=0)
        return (Role("worker", workers), Role("ps", servers)) if servers else (Role("worker", workers),)
    if launcher in ("torch", "torchrun"):
        total = config.pytorch.process_count
        if total is not None:
            why = ": it counts the processes of all nodes, and each has one" if nodes > 1 else ""
            total = _whole_number(total, "process_count", nodes, why)
        return (Role("worker", nodes if total is None else total),)
    return ()


def _ports(config: RunConfiguration, roles: tuple[Role, ...]) -> int:
    """How many ports each node holds for the processes."""
    launcher, nodes = _launcher(config), config.node_count
    if launcher == "mpi":
        return 2 if nodes > 1 else 0  # where scripts meet, and where the agent takes MPI's daemon from
    if launcher == "tf_config":
        return -(-sum(role.count for role in roles) // nodes)
    return 1 if launcher in ("torch", "torchrun") else 0


def _environment_spec(environment: Environment, docker: DockerConfiguration, launcher: str | None) -> EnvironmentSpec:
    python = environment.python
    definition = environment.to_definition()
    if docker.use_docker:  # the newer place for what environment.docker says
        arguments = [*definition["docker"]["arguments"], *docker.arguments]
        more = {"enabled": True, "arguments": arguments, "sharedVolumes": bool(docker.shared_volumes)}
        definition["docker"] = {**definition["docker"], "shmSize": docker.shm_size, **more}
    interpreter = None
    if python.user_managed_dependencies:
        # 'python' is the SDK's default and means: the one I am working with
        named = python.interpreter_path
        interpreter = sys.executable if not named or named == DEFAULT_INTERPRETER else str(named)
    elif launcher == "mpi":
        definition = with_mpi(definition)
    return EnvironmentSpec(
        name=environment.name,
        version=environment.version,
        user_managed=bool(python.user_managed_dependencies),
        interpreter=interpreter,
        variables=environment._variables(),
        definition=definition,
    )


def _check_target(workspace: Workspace, config: RunConfiguration) -> str:
    """The kind of target, for the run's properties. An unknown name or too many nodes ends here; a cluster that is
    described instead of named is made."""
    target = config.target or LOCAL_TARGET
    if target == LOCAL_TARGET:
        return "local"
    if target in DESCRIBED_TARGETS:
        config.target = target = ensure_cluster(workspace, config)
    compute = workspace._clients.computes.get(target)
    least = config.pytorch.min_node_count if _launcher(config) == "torchrun" else None
    if (wanted := least or config.node_count) > compute.max_nodes:
        raise translated(TooManyNodes(target, wanted, compute.max_nodes))
    return compute.kind.lower()


def _source_directory(given: Any) -> str:
    source = os.path.abspath(os.path.expanduser(os.fspath(given) if given else os.curdir))
    if not os.path.isdir(source):
        what = "is a file, not a folder" if os.path.exists(source) else "does not exist"
        raise UserErrorException(f"The source_directory {source} {what}. Give the folder that holds your script.")
    return source


def _script(source: str, script: Any) -> str:
    if not script:
        raise UserErrorException(
            "Nothing to run: give a script such as 'train.py' (an estimator's entry_script), or a command."
        )
    full = os.path.normpath(os.path.join(source, os.fspath(script)))
    below = os.path.relpath(full, source)
    if below.startswith(os.pardir):
        raise ExperimentExecutionException(
            f"The script {script} is outside of the source_directory {source}, and only that folder travels with the "
            "run. Move the script into it, or choose a source_directory above both."
        )
    if not os.path.isfile(full):
        raise ExperimentExecutionException(
            f"The script {script} is not in the source_directory {source}. Check the name, or give the right folder."
        )
    return below.replace(os.sep, "/")


def _command(command: Any) -> str:
    line = passable(command, "command") if isinstance(command, str) else " ".join(serialised(command, "command"))
    if not line.strip():
        raise UserErrorException("The command is empty. Give ScriptRunConfig a command such as ['python', 'train.py'].")
    return line


def _whole_number(value: Any, name: str, least: int = 1, why: str = "") -> int:
    try:
        number = int(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise UserErrorException(f"{name} is {value!r}; it must be a whole number.", error) from error
    if isinstance(value, bool) or number != (value if isinstance(value, float) else number):
        raise UserErrorException(f"{name} is {value!r}; it must be a whole number.")
    if number < least:
        raise UserErrorException(f"{name} is {number}; it must be at least {least}{why}.")
    return number
