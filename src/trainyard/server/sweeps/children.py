"""From a sample to a child run: its arguments, its tags, and what it begins with."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from trainyard.contract.runs import NewRun, RunSpec
from trainyard.contract.sweeps import HYPERPARAMETERS, OUTPUTS_FROM_VARIABLE, SweepSpec, as_argument, option

RESUME_OPTION = "--resume-from"


def child_id(sweep_id: str, index: int) -> str:
    return f"{sweep_id}_{index}"


def new_child(
    spec: SweepSpec,
    experiment: str,
    sweep_id: str,
    index: int,
    parameters: Mapping[str, Any],
    resumes: str | None = None,
    outputs_from: str | None = None,
) -> NewRun:
    """`resumes`: the run it goes on with, whose script is told where the outputs are."""
    run = with_parameters(spec.run, parameters, replace_fixed=spec.replace_arguments)
    if resumes is not None:
        run = _with_arguments(run, [*run.arguments, RESUME_OPTION, "outputs"], [RESUME_OPTION, "outputs"])
    begins = resumes or outputs_from
    if begins is not None:
        variables = {**run.variables, OUTPUTS_FROM_VARIABLE: begins}
        run = replace(run, outputs_from=begins, variables=variables)
    return NewRun(
        experiment=experiment,
        spec=run,
        run_id=child_id(sweep_id, index),
        parent_run_id=sweep_id,
        tags={HYPERPARAMETERS: json.dumps(parameters)},
        properties=dict(spec.child_properties),
        params={name.lstrip("-"): as_argument(value) for name, value in parameters.items()},
    )


def with_parameters(run: RunSpec, parameters: Mapping[str, Any], *, replace_fixed: bool = False) -> RunSpec:
    """The sampled pairs come last, so that they are the ones an option parser takes."""
    fixed = list(run.arguments)
    if replace_fixed:
        fixed = _without(fixed, {option(name) for name in parameters} | set(parameters))
    pairs = [part for name, value in parameters.items() for part in (option(name), as_argument(value))]
    return _with_arguments(run, [*fixed, *pairs], pairs)


def _with_arguments(run: RunSpec, arguments: list[str], added: list[str]) -> RunSpec:
    if run.command is not None:
        line = f"{run.command} {shlex.join(added)}"
        return replace(run, command=line, definition={**run.definition, "command": line})
    return replace(run, arguments=tuple(arguments), definition={**run.definition, "arguments": arguments})


def _without(arguments: list[str], names: set[str]) -> list[str]:
    """Without these options and what belongs to them: everything up to the next option."""
    kept: list[str] = []
    dropping = False
    for argument in arguments:
        if _is_option(argument):
            dropping = argument.partition("=")[0] in names
        if not dropping:
            kept.append(argument)
    return kept


def _is_option(argument: str) -> bool:
    if not argument.startswith("-"):
        return False
    try:
        float(argument)
    except ValueError:
        return True
    return False
