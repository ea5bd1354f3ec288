"""Which runs of a sweep are ended before they are through. An interval is one report of the primary metric."""

from __future__ import annotations

import json
from typing import Any, ClassVar

from trainyard.contract.sweeps import Policy, Sampling, check_policy
from trainyard.sdk.hyperdrive.errors import config_errors


class EarlyTerminationPolicy:
    POLICY_NAME: ClassVar[str]

    def __init__(self, policy: Policy, properties: dict[str, Any]) -> None:
        given = {name: value for name, value in properties.items() if value is not None}
        with config_errors():
            check_policy(Sampling.RANDOM, policy, given)
        self._policy = policy
        self._properties = given

    @property
    def evaluation_interval(self) -> int:
        return int(self._properties.get("evaluation_interval", 1))

    @property
    def delay_evaluation(self) -> int:
        return int(self._properties.get("delay_evaluation", 0))

    def to_json(self) -> str:
        return json.dumps({"name": self.POLICY_NAME, "properties": self._properties})

    def __repr__(self) -> str:
        said = ", ".join(f"{name}={value!r}" for name, value in self._properties.items())
        return f"{type(self).__name__}({said})"


class BanditPolicy(EarlyTerminationPolicy):
    """Ends runs whose best value so far is out of reach of the best run's: by a factor, or by an amount."""

    POLICY_NAME = Policy.BANDIT.value

    def __init__(
        self,
        evaluation_interval: int = 1,
        slack_factor: float | None = None,
        slack_amount: float | None = None,
        delay_evaluation: int = 0,
    ) -> None:
        slack = {"slack_factor": slack_factor, "slack_amount": slack_amount}
        super().__init__(Policy.BANDIT, {**_when(evaluation_interval, delay_evaluation), **slack})

    @property
    def slack_factor(self) -> float | None:
        return self._properties.get("slack_factor")

    @property
    def slack_amount(self) -> float | None:
        return self._properties.get("slack_amount")


class MedianStoppingPolicy(EarlyTerminationPolicy):
    """Ends runs whose best value so far is worse than the median of all runs' averages."""

    POLICY_NAME = Policy.MEDIAN.value

    def __init__(self, evaluation_interval: int = 1, delay_evaluation: int = 0) -> None:
        super().__init__(Policy.MEDIAN, _when(evaluation_interval, delay_evaluation))


class TruncationSelectionPolicy(EarlyTerminationPolicy):
    """Ends the lowest share of the runs at each interval."""

    POLICY_NAME = Policy.TRUNCATION.value

    def __init__(self, truncation_percentage: int, evaluation_interval: int = 1, delay_evaluation: int = 0) -> None:
        share = {"truncation_percentage": truncation_percentage}
        super().__init__(Policy.TRUNCATION, {**share, **_when(evaluation_interval, delay_evaluation)})

    @property
    def truncation_percentage(self) -> int:
        return int(self._properties["truncation_percentage"])


class NoTerminationPolicy(EarlyTerminationPolicy):
    POLICY_NAME = Policy.NONE.value

    def __init__(self) -> None:
        super().__init__(Policy.NONE, {})


class AshaPolicy(EarlyTerminationPolicy):
    """Not in the SDK: asynchronous successive halving. At min_intervals, and at each reduction_factor times as many,
    only the best 1/reduction_factor of the runs that came as far go on."""

    POLICY_NAME = Policy.ASHA.value

    def __init__(self, min_intervals: int = 1, reduction_factor: int = 3) -> None:
        super().__init__(Policy.ASHA, {"min_intervals": min_intervals, "reduction_factor": reduction_factor})


class HyperbandPolicy(EarlyTerminationPolicy):
    """Not in the SDK: several successive halvings at once, from eager to patient; `max_intervals` is how often a whole
    run reports."""

    POLICY_NAME = Policy.HYPERBAND.value

    def __init__(self, max_intervals: int, reduction_factor: int = 3) -> None:
        super().__init__(Policy.HYPERBAND, {"max_intervals": max_intervals, "reduction_factor": reduction_factor})


def policy_of(policy: Policy, properties: dict[str, Any]) -> EarlyTerminationPolicy:
    """The policy of a sweep that was submitted before."""
    kinds: dict[Policy, Any] = {
        Policy.NONE: NoTerminationPolicy,
        Policy.BANDIT: BanditPolicy,
        Policy.MEDIAN: MedianStoppingPolicy,
        Policy.TRUNCATION: TruncationSelectionPolicy,
        Policy.ASHA: AshaPolicy,
        Policy.HYPERBAND: HyperbandPolicy,
    }
    made: EarlyTerminationPolicy = kinds[policy](**properties)
    return made


def _when(evaluation_interval: int, delay_evaluation: int) -> dict[str, Any]:
    return {"evaluation_interval": evaluation_interval, "delay_evaluation": delay_evaluation}
