"""`trainyard sweep script.py --param lr=loguniform(-6,-1) --minimize loss`."""

from __future__ import annotations

import os
import shlex
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter
from cyclopts.validators import Number

from trainyard.cli.output import JsonFlag, WorkspaceOption, coloured, console, errors, say, show_json
from trainyard.cli.place import Place, open_place
from trainyard.cli.run import named_for, pair, split_script
from trainyard.cli.sweep_words import policy, policy_hint, space_of
from trainyard.contract.errors import InvalidRequest, NotFound
from trainyard.contract.runs import HYPERDRIVE, LOCAL_TARGET, RunChange, RunRecord
from trainyard.contract.states import RunState
from trainyard.contract.sweeps import MAX_DURATION_MINUTES, MAX_TOTAL_RUNS, SWEEP_LOG, SweepChild, SweepRecord

if TYPE_CHECKING:
    from trainyard.sdk.hyperdrive.run import HyperDriveRun

Sampling = Literal["random", "sobol", "grid", "bayesian"]


def sweep(
    script: Annotated[str, Parameter(help="The Python file to run; or a sweep's id, to come back to it.")],
    /,
    *arguments: Annotated[str, Parameter(help="Arguments that every run gets, after `--`.")],
    param: Annotated[
        tuple[str, ...],
        Parameter(
            name=["--param", "-p"],
            negative="",
            show_default=False,
            help="NAME=EXPRESSION, such as lr=loguniform(-6,-1) or batch=16,32,64; may be repeated.",
        ),
    ] = (),
    minimize: Annotated[str | None, Parameter(help="The metric to make small, as the script logs it.")] = None,
    maximize: Annotated[str | None, Parameter(help="The metric to make large.")] = None,
    max_runs: Annotated[
        int, Parameter(help="How many runs there are to be.", validator=Number(gte=1, lte=MAX_TOTAL_RUNS))
    ] = 20,
    at_once: Annotated[
        int | None, Parameter(help="How many at once; without it, all there is room for.", validator=Number(gte=1))
    ] = None,
    sampling: Annotated[Sampling, Parameter(help="How the values are chosen.")] = "random",
    seed: Annotated[int | None, Parameter(help="The same seed tries the same values.", validator=Number(gte=0))] = None,
    stop: Annotated[
        str | None,
        Parameter(
            help="Ends hopeless runs early: median, bandit(slack_factor=0.1), truncation(20), asha, hyperband(81)."
        ),
    ] = None,
    minutes: Annotated[
        int,
        Parameter(help="What still runs after this time is ended.", validator=Number(gte=1, lte=MAX_DURATION_MINUTES)),
    ] = 10_080,
    experiment: Annotated[
        str | None, Parameter(name=["--experiment", "-e"], help="The experiment; without it, named for the script.")
    ] = None,
    target: Annotated[str, Parameter(name=["--target", "-t"], help="The compute target.")] = LOCAL_TARGET,
    env_var: Annotated[
        tuple[str, ...],
        Parameter(name="--env-var", negative="", show_default=False, help="A variable for the script, as KEY=VALUE."),
    ] = (),
    name: Annotated[str | None, Parameter(help="A name for people.")] = None,
    source: Annotated[str | None, Parameter(help="The folder that travels, when it is not the script's own.")] = None,
    detach: Annotated[bool, Parameter(name=["--detach", "-d"], negative="", help="Do not wait for it.")] = False,
    workspace: WorkspaceOption = None,
    json: JsonFlag = False,
) -> int:
    """Search for the parameters with which a script's metric is best.

    The script logs the metric with run.log(name, value) and gets each sample as
    --NAME VALUE. At the end, the command that runs the best one again is printed;
    with --json, all runs with their samples and values. Ctrl-C leaves the sweep
    alone.

    Try:

        trainyard sweep train.py --param 'lr=loguniform(-6,-1)' --minimize loss
        trainyard sweep train.py -p batch=16,32,64 --maximize accuracy --stop median
        trainyard sweep train.py -p depth=2,4 --minimize loss -- --epochs 3
    """
    if not os.path.exists(script) and script.startswith("HD_"):
        place = open_place(workspace)
        return _watch(_found(place, script), place, None, json)
    folder, relative = split_script(script, source)
    goal, space = _goal(minimize, maximize), space_of(param)
    what = _What(folder, relative, arguments, experiment or named_for(script), target, dict(map(pair, env_var)))
    place = open_place(workspace, make=True)
    made = _submit(place, what, _How(space, goal, max_runs, at_once, sampling, seed, stop, minutes))
    if name is not None:
        place.runs.change(made.id, RunChange(display_name=name))
    if detach:
        show_json({"run_id": made.id}) if json else console().print(made.id, markup=False)
        say(f"It runs. `trainyard sweep {made.id}` shows how far it is.")
        return 0
    given = [("--source", source), ("--experiment", experiment), *(("--env-var", each) for each in env_var)]
    again = [script, *(part for name, value in given if value is not None for part in (name, value))]
    return _watch(made, place, again, json)


@dataclass(frozen=True)
class _How:
    space: dict[str, Any]
    goal: tuple[str, str]
    most: int
    at_once: int | None
    sampling: Sampling
    seed: int | None
    stop: str | None
    minutes: int


@dataclass(frozen=True)
class _What:
    folder: str
    script: str
    arguments: tuple[str, ...]
    experiment: str
    target: str
    variables: dict[str, str]


def _goal(minimize: str | None, maximize: str | None) -> tuple[str, str]:
    if (minimize is None) == (maximize is None):
        raise InvalidRequest("Give --minimize METRIC or --maximize METRIC, one of them: it says what is best.")
    return ("MINIMIZE", minimize) if minimize is not None else ("MAXIMIZE", str(maximize))


def _submit(place: Place, what: _What, how: _How) -> HyperDriveRun:
    from trainyard.sdk.environments.environment import Environment
    from trainyard.sdk.experiment import Experiment
    from trainyard.sdk.hyperdrive.config import HyperDriveConfig, PrimaryMetricGoal
    from trainyard.sdk.submitting.script_run_config import ScriptRunConfig

    mine = Environment("user-managed")
    mine.python.user_managed_dependencies = True
    mine.environment_variables = what.variables
    config = ScriptRunConfig(
        what.folder, what.script, arguments=[*what.arguments], compute_target=what.target, environment=mine
    )
    goal, metric = how.goal
    sweep = HyperDriveConfig(
        hyperparameter_sampling=_sampling(how),
        primary_metric_name=metric,
        primary_metric_goal=PrimaryMetricGoal(goal),
        max_total_runs=how.most,
        max_concurrent_runs=how.at_once,
        max_duration_minutes=how.minutes,
        policy=_policy(how.stop),
        run_config=config,
    )
    run: Any = Experiment(place.yard.open(place.workspace), what.experiment).submit(sweep)
    return run  # type: ignore[no-any-return]


def _sampling(how: _How) -> Any:
    from trainyard.sdk.hyperdrive.sampling import (
        BayesianParameterSampling,
        GridParameterSampling,
        RandomParameterSampling,
    )

    properties = {"seed": how.seed}
    if how.sampling in ("random", "sobol"):
        return RandomParameterSampling(how.space, {**properties, "rule": how.sampling})
    if how.sampling == "grid":
        return GridParameterSampling(how.space)
    return BayesianParameterSampling(how.space, properties)


def _policy(text: str | None) -> Any:
    if text is None:
        return None
    from trainyard.sdk.errors import UserErrorException
    from trainyard.sdk.hyperdrive import policy as policies

    name, given, named = policy(text)
    try:
        return getattr(policies, name)(*given, **named)
    except TypeError as error:
        said = str(error).partition(") ")[2] or error
        raise InvalidRequest(f"--stop {text!r}: {said}. {policy_hint(name)}") from error
    except UserErrorException as error:
        raise InvalidRequest(f"--stop {text!r}: {error.message} {policy_hint(name)}") from error


def _found(place: Place, run_id: str) -> HyperDriveRun:
    record = place.runs.get(run_id)
    if record.type != HYPERDRIVE:
        raise NotFound(f"Run {run_id} is no sweep. `trainyard runs show {run_id}` shows it.")
    from trainyard.sdk.runs.run import Run

    run: Any = Run.get(place.yard.open(place.workspace), run_id)
    return run  # type: ignore[no-any-return]


def _watch(run: HyperDriveRun, place: Place, again: list[str] | None, json: bool) -> int:
    """`again`: the script, and the options it was started with, for the command that runs the best one again."""
    from trainyard.sdk.hyperdrive import sweep_table
    from trainyard.sdk.runs import run_stream

    say(f"sweep {run.id}")
    try:
        if sys.stderr.isatty():
            ended = sweep_table.follow(run._sweep, run._fresh, sys.stderr)
        else:
            ended = run_stream.stream_one(place.runs, place.runs.get(run.id), SWEEP_LOG, sys.stderr)
            sys.stderr.write("\n" + "\n".join(sweep_table.render(run._sweep(), 110)) + "\n")
    except KeyboardInterrupt:
        errors().print()
        say(f"The sweep goes on. `trainyard sweep {run.id}` comes back to it,", "yellow")
        say(f"`trainyard runs cancel {run.id}` ends it and its runs.", "yellow")
        raise
    found = run._sweep()
    best = sweep_table.best_of(found)
    command = None if best is None else _again(found, best, again or [found.spec.run.script or "SCRIPT"])
    _tell_end(ended, found, best)
    if json:
        show_json(_said(ended, found, best, command))
    elif command is not None:
        console().print(command, markup=False, soft_wrap=True)
    return 0 if best is not None and ended.state is RunState.COMPLETED else 1


def _tell_end(ended: RunRecord, found: SweepRecord, best: SweepChild | None) -> None:
    errors().print(coloured(ended.state), end="")
    errors().print(f"  {ended.error.message if ended.error else ended.reason}", markup=False, soft_wrap=True)
    metric = found.spec.metric
    if best is None:
        say(f"No run has logged {metric!r}, so there is no best one.", "yellow")
    else:
        say(f"The best run is {best.run_id}, with {metric} {best.best:.6g}. To run it again:")


def _again(found: SweepRecord, best: SweepChild, script: list[str]) -> str:
    from trainyard.contract.sweeps import as_argument, option

    run = found.spec.run
    pairs = [part for name, value in best.parameters.items() for part in (option(name), as_argument(value))]
    target = [] if run.target == LOCAL_TARGET else ["--target", run.target]
    return shlex.join(["trainyard", "run", *script, *target, "--", *run.arguments, *pairs])


def _said(ended: RunRecord, found: SweepRecord, best: SweepChild | None, command: str | None) -> dict[str, Any]:
    runs = [
        {
            "run_id": child.run_id,
            "status": child.state,
            "stopped": child.stopped,
            "parameters": child.parameters,
            "best": child.best,
            "last": child.last,
            "reports": child.reports,
        }
        for child in found.children
    ]
    return {
        "run_id": found.run_id,
        "status": ended.state,
        "reason": ended.error.message if ended.error else ended.reason,
        "warnings": [*found.warnings],
        "metric": found.spec.metric,
        "goal": found.spec.goal,
        "seed": found.seed,
        "best": None if best is None else runs[found.children.index(best)],
        "command": command,
        "runs": runs,
    }
