"""`trainyard run script.py -- args`."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Annotated, Any

from cyclopts import Parameter

from trainyard.cli.output import WorkspaceOption, coloured, console, errors, say
from trainyard.cli.place import Place, open_place
from trainyard.contract.errors import InvalidRequest
from trainyard.contract.logs import DRIVER
from trainyard.contract.runs import LOCAL_TARGET, RunChange, RunRecord
from trainyard.contract.states import RunState


def run(
    script: Annotated[str, Parameter(help="The Python file to run; its folder is what travels.")],
    /,
    *arguments: Annotated[str, Parameter(help="The script's own arguments, after `--`.")],
    experiment: Annotated[
        str | None, Parameter(name=["--experiment", "-e"], help="The experiment; without it, named for the script.")
    ] = None,
    target: Annotated[str, Parameter(name=["--target", "-t"], help="The compute target.")] = LOCAL_TARGET,
    nodes: Annotated[int, Parameter(help="How many nodes at once.")] = 1,
    mpi: Annotated[int | None, Parameter(help="MPI starts this many processes on each node.")] = None,
    torch: Annotated[int | None, Parameter(help="As many for torch.distributed on each node.")] = None,
    max_restarts: Annotated[int, Parameter(help="With --torch: start all again when one fails, so often.")] = 0,
    min_nodes: Annotated[int | None, Parameter(help="With --torch: begin with as few nodes as these.")] = None,
    workers: Annotated[int | None, Parameter(help="TensorFlow workers over all nodes, which find TF_CONFIG.")] = None,
    ps: Annotated[int, Parameter(help="With --workers: parameter servers beside them.")] = 0,
    env_var: Annotated[
        tuple[str, ...],
        Parameter(
            name="--env-var",
            negative="",
            show_default=False,
            help="A variable for the script, as KEY=VALUE; may be repeated.",
        ),
    ] = (),
    name: Annotated[str | None, Parameter(help="A name for people.")] = None,
    source: Annotated[
        str | None, Parameter(help="The folder that travels, when it is not the script's own; holds the script.")
    ] = None,
    detach: Annotated[bool, Parameter(name=["--detach", "-d"], negative="", help="Do not wait for it.")] = False,
    workspace: WorkspaceOption = None,
) -> int:
    """Submit a script from the shell and show its output. It runs with this
    interpreter, as a tracked run.

    Exits as the script does: with its exit code, or 128 and the number of the
    signal that ended it; with 1 when the run failed otherwise. Ctrl-C leaves the
    run alone.

    Try:

        trainyard run train.py -- --epochs 3
        trainyard run src/train.py --target cpu-cluster --env-var SEED=7
        trainyard run train.py --detach
        trainyard run --nodes 2 --mpi 2 train.py
    """
    if torch is None and (max_restarts or min_nodes is not None):
        raise InvalidRequest("--max-restarts and --min-nodes go with --torch. Say how many processes each node has.")
    how = _distribution(nodes, mpi, torch, workers, ps, (max_restarts, min_nodes))
    variables = dict(pair(text) for text in env_var)
    folder, relative = split_script(script, source)
    place = open_place(workspace, make=True)
    experiment = named_for(script) if experiment is None else experiment
    asked = _Asked(folder, relative, arguments, experiment, target, nodes, how, variables, name)
    made = _submit(place, asked)
    if detach:
        console().print(made.run_id, markup=False)
        say(f"It runs. `trainyard runs logs {made.run_id} -f` shows its output.")
        return 0
    return _watch(place, made)


def pair(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not key or not equals:
        raise InvalidRequest(f"--env-var {text!r} is not of the form KEY=VALUE. Write it so.")
    return key, value


def split_script(script: str, source: str | None) -> tuple[str, str]:
    """The folder that travels, and the script's path in it."""
    if not os.path.isfile(script):
        raise InvalidRequest(f"There is no file {script!r} here. Give the path of a Python script.")
    whole = os.path.abspath(script)
    folder = os.path.abspath(source) if source is not None else os.path.dirname(whole)
    relative = os.path.relpath(whole, folder)
    if relative.startswith(os.pardir):
        raise InvalidRequest(f"{script!r} is not below {source!r}. --source must be a folder that holds the script.")
    return folder, relative


def named_for(script: str) -> str:
    """An experiment's name made of the script's: what a name may not hold becomes '-'."""
    stem = os.path.splitext(os.path.basename(script))[0]
    return "".join(c if c.isascii() and (c.isalnum() or c in "-_") else "-" for c in stem).lstrip("-_") or "script"


@dataclass(frozen=True)
class _Asked:
    folder: str
    script: str
    arguments: tuple[str, ...]
    experiment: str
    target: str
    nodes: int
    how: Any  # a distributed_job_config, or None
    variables: dict[str, str]
    name: str | None


def _distribution(
    nodes: int, mpi: int | None, torch: int | None, workers: int | None, ps: int, elastic: tuple[int, int | None]
) -> Any:
    """What the flags say about several processes, as the SDK says it."""
    from trainyard.sdk.submitting.runconfig_parts import MpiConfiguration, PyTorchConfiguration, TensorflowConfiguration

    given = [f"--{name}" for name, value in (("mpi", mpi), ("torch", torch), ("workers", workers)) if value is not None]
    if len(given) > 1:
        raise InvalidRequest(f"{' and '.join(given)} are different ways to start processes. Give one of them.")
    if mpi is not None:
        return MpiConfiguration(process_count_per_node=mpi, node_count=nodes)
    if torch is not None:
        return PyTorchConfiguration("Gloo", torch * nodes, nodes, *elastic)
    if workers is not None:
        return TensorflowConfiguration(worker_count=workers, parameter_server_count=ps)
    if ps:
        raise InvalidRequest("--ps goes with --workers. Say how many workers the parameter servers are for.")
    return None


def _submit(place: Place, asked: _Asked) -> RunRecord:
    from trainyard.sdk.environments.environment import Environment
    from trainyard.sdk.experiment import Experiment
    from trainyard.sdk.submitting.script_run_config import ScriptRunConfig

    mine = Environment("user-managed")
    mine.python.user_managed_dependencies = True
    mine.environment_variables = asked.variables
    config = ScriptRunConfig(
        asked.folder,
        asked.script,
        arguments=[*asked.arguments],
        compute_target=asked.target,
        environment=mine,
        distributed_job_config=asked.how,
    )
    config.run_config.node_count = asked.nodes
    submitted = Experiment(place.yard.open(place.workspace), asked.experiment).submit(config)
    if asked.name is not None:
        place.runs.change(submitted.id, RunChange(display_name=asked.name))
    return place.runs.get(submitted.id)


def _watch(place: Place, made: RunRecord) -> int:
    from trainyard.cli.follow import follow_log, follow_ranks
    from trainyard.sdk.runs.rank_logs import chosen_ranks

    say(f"run {made.run_id}")
    try:
        ranks = chosen_ranks(made, None)
        ended = follow_ranks(place.runs, made, ranks) if ranks else follow_log(place.runs, made, DRIVER)
    except KeyboardInterrupt:
        errors().print()
        say(f"The run goes on. `trainyard runs logs {made.run_id} -f` comes back to it,", "yellow")
        say(f"`trainyard runs cancel {made.run_id}` ends it.", "yellow")
        raise
    errors().print(coloured(ended.state), end="")
    errors().print(f"  {ended.error.message if ended.error else ended.reason}", markup=False, soft_wrap=True)
    return _exit_code(ended)


def _exit_code(ended: RunRecord) -> int:
    """What a shell would have said of the script itself."""
    if ended.state is RunState.COMPLETED:
        return 0
    code = ended.error.exit_code if ended.error is not None else None
    return 1 if not code else 128 - code if code < 0 else code
