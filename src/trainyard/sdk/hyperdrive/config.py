"""HyperDriveConfig: what to run, what to try, how to judge it."""

from __future__ import annotations

import json
import uuid
from enum import Enum
from typing import TYPE_CHECKING, Any

from trainyard.contract.runs import RunSpec
from trainyard.contract.sweeps import Goal, NewSweep, SweepRecord, SweepSpec, check_sweep
from trainyard.sdk.effects import no_effect, tell_once
from trainyard.sdk.estimators.estimator_base import MMLBaseEstimator
from trainyard.sdk.hyperdrive.errors import (
    HyperDriveConfigException,
    HyperDriveRehydrateException,
    HyperDriveScenarioNotSupportedException,
    config_errors,
)
from trainyard.sdk.hyperdrive.policy import EarlyTerminationPolicy, NoTerminationPolicy, policy_of
from trainyard.sdk.hyperdrive.sampling import HyperParameterSampling, sampling_of
from trainyard.sdk.labels import as_tags
from trainyard.sdk.submitting.script_run_config import ScriptRunConfig

if TYPE_CHECKING:
    from trainyard.sdk.experiment import Experiment
    from trainyard.sdk.runs.run import Run

MAX_DURATION_MINUTES = 10_080


class PrimaryMetricGoal(Enum):
    MAXIMIZE = "MAXIMIZE"
    MINIMIZE = "MINIMIZE"

    @staticmethod
    def from_str(goal: str) -> PrimaryMetricGoal:
        try:
            return PrimaryMetricGoal(str(goal).upper())
        except ValueError as error:
            raise HyperDriveRehydrateException(f"{goal!r} is no goal. Use 'maximize' or 'minimize'.", error) from error


class HyperDriveConfig:
    def __init__(
        self,
        hyperparameter_sampling: HyperParameterSampling,
        primary_metric_name: str,
        primary_metric_goal: PrimaryMetricGoal,
        max_total_runs: int,
        max_concurrent_runs: int | None = None,
        max_duration_minutes: int = MAX_DURATION_MINUTES,
        policy: EarlyTerminationPolicy | None = None,
        estimator: Any = None,
        run_config: ScriptRunConfig | None = None,
        resume_from: Any = None,
        resume_child_runs: Any = None,
        pipeline: Any = None,
        debug_flag: Any = None,
        custom_run_id: str | None = None,
    ) -> None:
        no_effect("HyperDriveConfig", debug_flag=debug_flag)
        if pipeline is not None:
            raise HyperDriveScenarioNotSupportedException(
                "Trainyard has no pipelines, so there is none to tune. Give HyperDriveConfig a run_config."
            )
        if (estimator is None) == (run_config is None):
            raise HyperDriveConfigException("Give HyperDriveConfig exactly one of estimator and run_config.")
        self._estimator = estimator
        self._run_config = run_config
        self._sampling = _is_a(hyperparameter_sampling, HyperParameterSampling, "hyperparameter_sampling")
        self._policy = _is_a(policy or NoTerminationPolicy(), EarlyTerminationPolicy, "policy")
        self._metric = primary_metric_name
        self._goal = _goal(primary_metric_goal)
        self._max_total_runs = max_total_runs
        self._max_concurrent_runs = max_concurrent_runs
        self._max_duration_minutes = max_duration_minutes
        self._resume_from = _run_ids(resume_from, "resume_from")
        self._resume_child_runs = _run_ids(resume_child_runs, "resume_child_runs")
        self._custom_run_id = custom_run_id
        self._check_kinds()
        with config_errors():
            check_sweep(self._spec(RunSpec()))

    @property
    def estimator(self) -> Any:
        return self._estimator

    @property
    def run_config(self) -> ScriptRunConfig | None:
        return self._run_config

    @property
    def pipeline(self) -> None:
        return None

    @property
    def source_directory(self) -> str | None:
        what = self._run_config or self._estimator
        return None if what is None else str(what.source_directory)

    def _check_kinds(self) -> None:
        if self._estimator is not None and not isinstance(self._estimator, MMLBaseEstimator):
            raise HyperDriveConfigException(
                f"estimator is a {type(self._estimator).__name__}. Give an estimator, or run_config=a ScriptRunConfig."
            )
        if self._run_config is not None and not isinstance(self._run_config, ScriptRunConfig):
            raise HyperDriveConfigException(
                f"run_config is a {type(self._run_config).__name__}. Give a ScriptRunConfig, or estimator=..."
            )
        if not isinstance(self._metric, str):
            raise HyperDriveConfigException(f"primary_metric_name is {self._metric!r}; it must be text.")

    def _spec(self, run: RunSpec, properties: dict[str, str] | None = None) -> SweepSpec:
        return SweepSpec(
            space=self._sampling._parameter_space,
            metric=self._metric,
            goal=Goal(self._goal.value),
            max_total_runs=self._max_total_runs,
            max_concurrent_runs=self._max_concurrent_runs,
            run=run,
            sampling=self._sampling._sampling,
            sampling_properties=self._sampling._properties,
            policy=self._policy._policy,
            policy_properties=self._policy._properties,
            max_duration_minutes=self._max_duration_minutes,
            replace_arguments=self._estimator is not None,
            resume_from=self._resume_from,
            resume_child_runs=self._resume_child_runs,
            child_properties=properties or {},
        )

    def _submit_to(
        self, experiment: Experiment, tags: dict[str, Any] | None, parent_run_id: str | None, **kwargs: Any
    ) -> Run:
        """What Experiment.submit calls on whatever it is given."""
        from trainyard.sdk.hyperdrive.run import HyperDriveRun
        from trainyard.sdk.submitting.submit import prepare_script

        for name in kwargs:
            tell_once(f"Experiment.submit: {name} has no effect for a HyperDriveConfig.")
        if self._run_config is None and self._estimator is None:
            raise HyperDriveConfigException(
                "This HyperDriveConfig was read back from a run, without what it ran. Make one with run_config=..."
            )
        with config_errors():
            check_sweep(self._spec(RunSpec()))
        prepared = prepare_script(experiment, self._run_config or self._estimator._script_run_config())
        new = NewSweep(
            experiment=experiment.name,
            spec=self._spec(prepared.spec, prepared.properties),
            run_id=self._custom_run_id or f"HD_{uuid.uuid4()}",
            parent_run_id=parent_run_id,
            tags=as_tags(tags),
            properties={**_of_parent(prepared.properties), **self._properties()},
        )
        with config_errors():
            record = experiment.workspace._clients.sweeps.create(new)
        return HyperDriveRun(experiment, record.run_id, hyperdrive_config=self, _record=record)

    def _properties(self) -> dict[str, str]:
        """What the SDK's service notes at a sweep's parent."""
        metric = {"name": self._metric, "goal": self._goal.value.lower()}
        return {
            "primary_metric_config": json.dumps(metric),
            "resume_from": json.dumps(list(self._resume_from) or None),
            "runTemplate": "HyperDrive",
            "azureml.runsource": "hyperdrive",
            "platform": "AML",
        }

    @staticmethod
    def _of(record: SweepRecord) -> HyperDriveConfig:
        """The configuration of a sweep that was submitted before, without what it ran."""
        spec = record.spec
        made = _blank()
        made._sampling = sampling_of(spec.sampling, spec.space, spec.sampling_properties)
        made._policy = policy_of(spec.policy, spec.policy_properties)
        made._metric, made._goal = spec.metric, PrimaryMetricGoal.from_str(spec.goal)
        made._max_total_runs, made._max_concurrent_runs = spec.max_total_runs, spec.max_concurrent_runs
        made._max_duration_minutes = spec.max_duration_minutes
        made._resume_from, made._resume_child_runs = spec.resume_from, spec.resume_child_runs
        return made


class HyperDriveRunConfig(HyperDriveConfig):
    """The name and the order of 2018."""

    def __init__(
        self,
        estimator: Any,
        hyperparameter_sampling: HyperParameterSampling,
        primary_metric_name: str,
        primary_metric_goal: PrimaryMetricGoal,
        max_total_runs: int,
        max_concurrent_runs: int | None = None,
        max_duration_minutes: int = MAX_DURATION_MINUTES,
        policy: EarlyTerminationPolicy | None = None,
    ) -> None:
        super().__init__(
            hyperparameter_sampling=hyperparameter_sampling,
            primary_metric_name=primary_metric_name,
            primary_metric_goal=primary_metric_goal,
            max_total_runs=max_total_runs,
            max_concurrent_runs=max_concurrent_runs,
            max_duration_minutes=max_duration_minutes,
            policy=policy,
            estimator=estimator,
        )


def _of_parent(properties: dict[str, str]) -> dict[str, str]:
    """A sweep has no processes of its own, and so no files that tell of them."""
    return {name: value for name, value in properties.items() if not name.startswith("Process")}


def _blank() -> HyperDriveConfig:
    made = HyperDriveConfig.__new__(HyperDriveConfig)
    made._estimator = made._run_config = made._custom_run_id = None
    return made


def _is_a(value: Any, kind: type[Any], name: str) -> Any:
    if not isinstance(value, kind):
        known = ", ".join(sorted(each.__name__ for each in kind.__subclasses__()))
        raise HyperDriveConfigException(f"{name} is a {type(value).__name__}. Give one of {known}.")
    return value


def _goal(goal: Any) -> PrimaryMetricGoal:
    if isinstance(goal, PrimaryMetricGoal):
        return goal
    try:
        return PrimaryMetricGoal.from_str(goal)
    except HyperDriveRehydrateException as error:
        raise HyperDriveConfigException(
            f"primary_metric_goal is {goal!r}. Use PrimaryMetricGoal.MAXIMIZE or PrimaryMetricGoal.MINIMIZE.", error
        ) from error


def _run_ids(given: Any, name: str) -> tuple[str, ...]:
    """Run objects, one or several. Their ids are texts here and on the wire."""
    if given is None:
        return ()
    several = given if isinstance(given, list | tuple) else [given]
    for run in several:
        if not isinstance(getattr(run, "id", None), str):
            raise HyperDriveConfigException(f"{name} has a {type(run).__name__}. Give a run, or a list of runs.")
    return tuple(dict.fromkeys(run.id for run in several))
