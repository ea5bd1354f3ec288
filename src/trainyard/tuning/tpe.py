"""Bayesian sampling by Optuna's TPE. The study lives in memory and is made of the history alone; between two questions
it is kept, and only what is new in the history is told to it."""

from __future__ import annotations

import warnings
from typing import Any

import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import TrialState, create_trial

from trainyard.contract.sweeps import CHOICE, flat_options
from trainyard.tuning.history import History, Proposal, Trial
from trainyard.tuning.samplers import at_random, draw
from trainyard.tuning.space import rounded

optuna.logging.set_verbosity(optuna.logging.ERROR)

_AT_RANDOM = 10  # trials before the first that learns from the others


class TpeSampler:
    total: int | None = None
    learns = True

    def __init__(self, space: dict[str, Any], seed: int) -> None:
        self._space = space
        self._seed = seed
        self._dimensions = {name: _Dimension(expression) for name, expression in space.items()}
        self._distributions: dict[str, BaseDistribution] = {
            name: dimension.distribution for name, dimension in self._dimensions.items()
        }
        self._study = optuna.create_study(direction="maximize")
        self._known: set[Any] = set()
        self._running: dict[Any, int] = {}  # trials the study knows as running: key → its number there
        self._numbered = 0

    def propose(self, index: int, history: History) -> Proposal:
        known = sum(trial.over and bool(trial.finite) for trial in (*history.earlier, *history.trials))
        if known < min(_AT_RANDOM, 2 + len(self._space) * 2):
            return Proposal(draw(self._space, at_random(self._seed, index, len(self._space))))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            self._catch_up(history)
            self._study.sampler = optuna.samplers.TPESampler(
                n_startup_trials=0, multivariate=True, constant_liar=True, seed=self._seed + index
            )
            asked = self._study.ask(self._distributions)
            # it is part of the study only once the history has it: nobody may ever start it
            self._study.tell(asked.number, state=TrialState.FAIL)
            self._numbered += 1
        return Proposal({name: self._dimensions[name].value(asked.params[name]) for name in self._space})

    def _catch_up(self, history: History) -> None:
        """Tell the study of trials it does not know, and of the ends of those it knows as running."""
        for key, trial in _keyed(history):
            running = self._running.get(key)
            if key in self._known and (running is None or not trial.over):
                continue
            score = history.best(trial) if trial.over else None
            state = TrialState.RUNNING if not trial.over else TrialState.FAIL if score is None else TrialState.COMPLETE
            if running is not None:
                self._study.tell(running, score, state=state)
                del self._running[key]
            else:
                self._add(key, trial, score, state)

    def _add(self, key: Any, trial: Trial, score: float | None, state: TrialState) -> None:
        self._known.add(key)
        params = self._internal(trial)
        if params is None:
            return
        self._study.add_trial(create_trial(params=params, distributions=self._distributions, value=score, state=state))
        if state is TrialState.RUNNING:
            self._running[key] = self._numbered
        self._numbered += 1

    def _internal(self, trial: Trial) -> dict[str, Any] | None:
        """A trial of an earlier sweep over another space teaches nothing here."""
        found = {}
        for name, dimension in self._dimensions.items():
            if name not in trial.parameters or not dimension.holds(trial.parameters[name]):
                return None
            found[name] = dimension.told(trial.parameters[name])
        return found


def _keyed(history: History) -> list[tuple[Any, Trial]]:
    return [
        *((("earlier", at), trial) for at, trial in enumerate(history.earlier)),
        *((trial.index, trial) for trial in history.trials),
    ]


class _Dimension:
    """One parameter, in Optuna's words and in ours."""

    def __init__(self, expression: Any) -> None:
        kind, arguments = expression
        self._q: Any = None
        self._options: list[Any] = []
        self.distribution: BaseDistribution
        if kind == CHOICE:
            self._options = list(dict.fromkeys(flat_options(expression)))  # twice the same is one to learn about
            self.distribution = CategoricalDistribution(range(len(self._options)))
        elif kind == "uniform":
            self.distribution = FloatDistribution(float(arguments[0]), float(arguments[1]))
        else:
            low, high, self._q = arguments
            self.distribution = IntDistribution(round(low / self._q), round(high / self._q))

    def value(self, told: Any) -> Any:
        if self._options:
            return self._options[told]
        return told if self._q is None else rounded(told * self._q, self._q)

    def told(self, value: Any) -> Any:
        if self._options:
            return self._options.index(value)
        return value if self._q is None else round(value / self._q)

    def holds(self, value: Any) -> bool:
        if self._options:
            return value in self._options
        if not isinstance(value, int | float):
            return False
        inside: bool = self.distribution._contains(self.distribution.to_internal_repr(self.told(value)))
        return inside
