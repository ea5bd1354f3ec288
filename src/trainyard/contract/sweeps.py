"""Sweeps as they travel: what is searched, how, and what came of it. Also the rules that can be checked on both sides
of the wire, so that a sweep that makes no sense is refused before it is sent and before it is queued."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from trainyard.contract.errors import InvalidSweep
from trainyard.contract.runs import RunSpec
from trainyard.contract.states import RunState

SWEEP_LOG = "azureml-logs/hyperdrive.txt"
OUTPUTS_FROM_VARIABLE = "TRAINYARD_OUTPUTS_FROM"  # in a child that begins with another run's ./outputs: that run's id
HYPERPARAMETERS = "hyperparameters"  # the tag of a child that holds its sample, as JSON
MAX_TOTAL_RUNS = 1000
MAX_DURATION_MINUTES = 43_200
MOST_PARENTS = 5

# Expression → how many numbers it takes. `choice` takes one list of options.
NUMBERS = {
    "randint": 1,
    "uniform": 2,
    "quniform": 3,
    "loguniform": 2,
    "qloguniform": 3,
    "normal": 2,
    "qnormal": 3,
    "lognormal": 2,
    "qlognormal": 3,
}
CHOICE = "choice"
_RANGES = frozenset({"uniform", "quniform", "loguniform", "qloguniform"})
_BAYESIAN = frozenset({CHOICE, "uniform", "quniform"})
_MOST_EXPONENT = 700  # exp() of more is no float
_MOST_SIGMAS = 9  # nothing is ever drawn farther from the mean


class Goal(StrEnum):
    MAXIMIZE = "MAXIMIZE"
    MINIMIZE = "MINIMIZE"


class Sampling(StrEnum):
    """The SDK's names, and one of ours."""

    RANDOM = "RANDOM"
    GRID = "GRID"
    BAYESIAN = "BayesianOptimization"
    POPULATION = "PopulationBased"


class Policy(StrEnum):
    """The SDK's names, and two of ours."""

    NONE = "Default"
    BANDIT = "Bandit"
    MEDIAN = "MedianStopping"
    TRUNCATION = "TruncationSelection"
    ASHA = "Asha"
    HYPERBAND = "Hyperband"


@dataclass(frozen=True)
class SweepSpec:
    """Everything a sweep is. `run` is what every child is, but for the sampled arguments."""

    space: dict[str, Any]  # parameter → expression, `[name, [arguments]]`
    metric: str
    goal: Goal
    max_total_runs: int
    max_concurrent_runs: int | None  # None: as many as there is room for
    run: RunSpec
    sampling: Sampling = Sampling.RANDOM
    sampling_properties: dict[str, Any] = field(default_factory=dict)
    policy: Policy = Policy.NONE
    policy_properties: dict[str, Any] = field(default_factory=dict)
    max_duration_minutes: int = 10_080
    replace_arguments: bool = False  # an estimator's: a fixed argument gives way to a sampled one of its name
    resume_from: tuple[str, ...] = ()  # sweeps whose children are history
    resume_child_runs: tuple[str, ...] = ()  # runs that are gone on with, with their own sample and outputs
    child_properties: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class NewSweep:
    experiment: str
    spec: SweepSpec
    run_id: str
    parent_run_id: str | None = None
    tags: dict[str, str | None] = field(default_factory=dict)
    properties: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class SweepChild:
    index: int
    run_id: str
    state: RunState
    parameters: dict[str, Any]
    best: float | None = None  # of the primary metric, over all it has logged
    last: float | None = None
    reports: int = 0  # how often it has logged the primary metric
    started_ns: int | None = None
    ended_ns: int | None = None
    stopped: str | None = None  # the policy's sentence, where it stopped it
    outputs_from: str | None = None  # the run whose ./outputs it began with


@dataclass(frozen=True)
class SweepRecord:
    run_id: str
    experiment: str
    state: RunState
    reason: str
    spec: SweepSpec
    total: int  # how many children there will be at most: the grid may be smaller than max_total_runs
    children: tuple[SweepChild, ...]
    warnings: tuple[str, ...] = ()
    seed: int = 0


# How parameters are named to the script.


def option(name: str) -> str:
    """'lr' is passed as --lr; a name that has dashes of its own is passed as it is."""
    return name if name.startswith("-") else f"--{name}"


def as_argument(value: Any) -> str:
    return value if isinstance(value, str) else str(value)


# Rules.


def check_sweep(spec: SweepSpec) -> None:
    """InvalidSweep when it cannot be what anybody wants."""
    check_space(spec.sampling, spec.space)
    check_policy(spec.sampling, spec.policy, spec.policy_properties)
    check_sampling(spec.sampling, spec.space, spec.sampling_properties)
    if not spec.metric:
        raise InvalidSweep(
            "primary_metric_name is empty. Give the name that the script passes to run.log(name, value)."
        )
    _whole(spec.max_total_runs, "max_total_runs", 1, MAX_TOTAL_RUNS)
    if spec.max_concurrent_runs is not None:
        _whole(spec.max_concurrent_runs, "max_concurrent_runs", 1)
    _whole(spec.max_duration_minutes, "max_duration_minutes", 1, MAX_DURATION_MINUTES)
    if len(spec.resume_from) > MOST_PARENTS:
        raise InvalidSweep(f"resume_from has {len(spec.resume_from)} sweeps. Give at most {MOST_PARENTS}.")
    if len(spec.resume_child_runs) > spec.max_total_runs:
        raise InvalidSweep(
            f"resume_child_runs has {len(spec.resume_child_runs)} runs and max_total_runs is {spec.max_total_runs}. "
            "Raise max_total_runs: resumed runs count."
        )


def check_space(sampling: Sampling, space: Any) -> None:
    if not isinstance(space, dict) or not space:
        raise InvalidSweep("The parameter space must be a dict such as {'--lr': uniform(0.01, 0.1)}, and not empty.")
    for name, expression in space.items():
        if not isinstance(name, str) or not name.strip("-"):
            raise InvalidSweep(f"{name!r} cannot be a parameter's name. Use text such as '--learning-rate'.")
        check_expression(name, expression)
        kinds = set(_kinds(expression))
        if sampling is Sampling.GRID and kinds != {CHOICE}:
            raise InvalidSweep(
                f"Grid sampling tries every combination, and {name!r} is {_named(kinds - {CHOICE})}. Use choice(...) "
                "for every parameter, or RandomParameterSampling."
            )
        if sampling is Sampling.BAYESIAN:
            _check_bayesian(name, expression, kinds)
    if len({option(name) for name in space}) < len(space):
        raise InvalidSweep("Two parameters have the same option name once '--' is put before them. Rename one.")


def check_expression(name: str, expression: Any) -> None:
    """Whether it is `[kind, [arguments]]` with arguments that make sense."""
    if not is_expression(expression):
        raise InvalidSweep(
            f"Parameter {name!r} is {expression!r}, not an expression. Use choice(...), uniform(...), randint(...) or "
            "another of azureml.train.hyperdrive."
        )
    kind, arguments = expression
    if kind == CHOICE:
        options = choices(expression)
        if not options:
            raise InvalidSweep(f"choice() of parameter {name!r} has no options. Give it at least one.")
        for each in options:
            if is_expression(each):
                check_expression(name, each)
            elif not isinstance(each, str | int | float | bool | list | tuple | dict) and each is not None:
                raise InvalidSweep(f"An option of {name!r} is a {type(each).__name__}. Use text, numbers or lists.")
        return
    if len(arguments) != NUMBERS[kind] or not all(_is_number(number) for number in arguments):
        raise InvalidSweep(f"{kind} of parameter {name!r} takes {NUMBERS[kind]} finite numbers, not {arguments!r}.")
    if kind == "randint" and (int(arguments[0]) != arguments[0] or arguments[0] < 1):
        raise InvalidSweep(f"randint of parameter {name!r} takes a whole number above 0, not {arguments[0]!r}.")
    if kind in _RANGES and arguments[0] > arguments[1]:
        raise InvalidSweep(f"{kind} of parameter {name!r} goes from {arguments[0]} to {arguments[1]}. Swap them.")
    if kind.startswith("q") and arguments[2] <= 0:
        raise InvalidSweep(f"{kind} of parameter {name!r} needs a step q above 0, not {arguments[2]!r}.")
    if kind.endswith("normal") and arguments[1] <= 0:
        raise InvalidSweep(f"{kind} of parameter {name!r} needs a sigma above 0, not {arguments[1]!r}.")
    if kind.startswith(("log", "qlog")) and _highest(kind, arguments) > _MOST_EXPONENT:
        raise InvalidSweep(
            f"{kind}({arguments[0]}, {arguments[1]}) of parameter {name!r} is exp() of numbers so large that it "
            "overflows. Give logarithms, such as loguniform(-6, -1) or lognormal(-3, 1)."
        )


def check_policy(sampling: Sampling, policy: Policy, properties: dict[str, Any]) -> None:
    if policy is Policy.NONE:
        return
    if sampling is Sampling.BAYESIAN:
        raise InvalidSweep(
            "Bayesian sampling learns from finished runs and takes no early termination policy. Leave policy out, or "
            "use RandomParameterSampling."
        )
    if sampling is Sampling.POPULATION:
        raise InvalidSweep("Population-based sampling replaces its worst members itself. Leave policy out.")
    for name in ("evaluation_interval", "min_intervals", "max_intervals"):
        if name in properties:
            _whole(properties[name], name, 1)
    if "delay_evaluation" in properties:
        _whole(properties["delay_evaluation"], "delay_evaluation", 0)
    if policy is Policy.BANDIT:
        _check_slack(properties)
    if policy is Policy.TRUNCATION:
        _whole(properties.get("truncation_percentage"), "truncation_percentage", 1, 99)
    if policy in (Policy.ASHA, Policy.HYPERBAND):
        _whole(properties.get("reduction_factor", 3), "reduction_factor", 2)
    if policy is Policy.HYPERBAND:
        _whole(properties.get("max_intervals"), "max_intervals", 2)


def check_sampling(sampling: Sampling, space: dict[str, Any], properties: dict[str, Any]) -> None:
    seed, rule = properties.get("seed"), properties.get("rule")
    if seed is not None:
        _whole(seed, "seed", 0)
    if rule is not None and str(rule).lower() not in ("random", "sobol"):
        raise InvalidSweep(f"rule is {rule!r}. Use 'random' or 'sobol'.")
    if rule is not None and str(rule).lower() == "sobol" and len(space) > MOST_SOBOL:
        raise InvalidSweep(f"Sobol's rule is for at most {MOST_SOBOL} parameters, and there are {len(space)}.")
    if sampling is Sampling.POPULATION:
        _whole(properties.get("population_size"), "population_size", 2, MAX_TOTAL_RUNS)


MOST_SOBOL = 21


def is_expression(value: Any) -> bool:
    return (
        isinstance(value, list | tuple)
        and len(value) == 2
        and isinstance(value[0], str)
        and (value[0] == CHOICE or value[0] in NUMBERS)
        and isinstance(value[1], list | tuple)
    )


def choices(expression: Sequence[Any]) -> list[Any]:
    """The options of a choice: `["choice", [[…]]]` as the SDK writes it, or `["choice", […]]` as people do."""
    arguments = expression[1]
    if len(arguments) == 1 and isinstance(arguments[0], list | tuple) and not is_expression(arguments[0]):
        return list(arguments[0])
    return list(arguments)


def flat_options(expression: Sequence[Any]) -> Iterator[Any]:
    """The options of a choice, with those of the choices inside it."""
    for each in choices(expression):
        if is_expression(each) and each[0] == CHOICE:
            yield from flat_options(each)
        else:
            yield each


def _kinds(expression: Any) -> Iterator[str]:
    yield expression[0]
    if expression[0] == CHOICE:
        for each in choices(expression):
            if is_expression(each):
                yield from _kinds(each)


def _highest(kind: str, arguments: Sequence[Any]) -> float:
    """The largest number that is drawn before it is rounded or exponentiated."""
    first, second = arguments[:2]
    return float(first + _MOST_SIGMAS * second if kind.endswith("normal") else second)


def _check_bayesian(name: str, expression: Any, kinds: set[str]) -> None:
    if kinds - _BAYESIAN:
        raise InvalidSweep(
            f"Bayesian sampling takes choice, uniform and quniform, and {name!r} is {_named(kinds - _BAYESIAN)}. "
            "Use uniform for it (of its logarithm, where the script takes exp() of it), or RandomParameterSampling."
        )
    if expression[0] != CHOICE:
        return
    if kinds != {CHOICE}:
        raise InvalidSweep(
            f"Bayesian sampling takes no {_named(kinds - {CHOICE})} among the options of a choice, as {name!r} has it. "
            "Search a range or a choice of values, or use RandomParameterSampling."
        )
    options = list(flat_options(expression))
    texts = sum(isinstance(each, str) for each in options)
    plain = all(isinstance(each, str | int | float) for each in options)
    if not plain or 0 < texts < len(options):
        raise InvalidSweep(
            f"Bayesian sampling takes options that are all text or all numbers, and those of {name!r} are not. Write "
            "them all as text, such as choice('1', 'auto')."
        )


def _check_slack(properties: dict[str, Any]) -> None:
    given = [name for name in ("slack_factor", "slack_amount") if properties.get(name) is not None]
    if len(given) != 1:
        raise InvalidSweep("BanditPolicy takes slack_factor or slack_amount, exactly one of them.")
    if not _is_number(properties[given[0]]) or properties[given[0]] < 0:
        raise InvalidSweep(f"{given[0]} is {properties[given[0]]!r}; it must be a number that is not negative.")


def _whole(value: Any, name: str, least: int, most: int | None = None) -> None:
    if isinstance(value, bool) or not isinstance(value, int):
        raise InvalidSweep(f"{name} is {value!r}; it must be a whole number.")
    if value < least or (most is not None and value > most):
        limits = f"from {least} to {most}" if most is not None else f"of at least {least}"
        raise InvalidSweep(f"{name} is {value}; choose a number {limits}.")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _named(kinds: set[str]) -> str:
    return " and ".join(sorted(kinds))
