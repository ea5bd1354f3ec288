import random
import statistics

import pytest

from trainyard.contract.sweeps import Goal, Sampling
from trainyard.tuning.history import History, Trial
from trainyard.tuning.population import _shake
from trainyard.tuning.samplers import make_sampler

SPACE = {"x": ["uniform", [-5, 5]], "n": ["quniform", [1, 10, 1]], "c": ["choice", [["a", "b"]]]}
NOTHING = History(Goal.MINIMIZE)


def loss(parameters):
    return (parameters["x"] - 2) ** 2 + abs(parameters["n"] - 4) + (parameters["c"] != "b")


def searched(sampling, seed, trials, properties=None):
    sampler = make_sampler(sampling, SPACE, properties or {}, seed)
    done = []
    for index in range(trials):
        parameters = sampler.propose(index, History(Goal.MINIMIZE, done)).parameters
        done.append(Trial(index, parameters, True, (loss(parameters),)))
    return done


def test_random_samples_depend_on_seed_and_index_alone():
    first = make_sampler(Sampling.RANDOM, SPACE, {}, 1)
    again = make_sampler(Sampling.RANDOM, SPACE, {}, 1)
    other = make_sampler(Sampling.RANDOM, SPACE, {}, 2)
    assert first.propose(7, NOTHING) == again.propose(7, History(Goal.MINIMIZE, searched(Sampling.RANDOM, 3, 2)))
    assert first.propose(7, NOTHING) != other.propose(7, NOTHING)
    assert first.propose(7, NOTHING) != first.propose(8, NOTHING)


def test_random_samples_are_spread_over_the_space():
    sampler = make_sampler(Sampling.RANDOM, SPACE, {}, 1)
    found = [sampler.propose(at, NOTHING).parameters for at in range(400)]
    assert abs(statistics.fmean(each["x"] for each in found)) < 0.5
    assert {each["n"] for each in found} == set(range(1, 11))
    assert 150 < sum(each["c"] == "a" for each in found) < 250


def test_sobols_rule_fills_the_space():
    sampler = make_sampler(Sampling.RANDOM, SPACE, {"rule": "Sobol"}, 1)
    found = [sampler.propose(at, NOTHING).parameters["x"] for at in range(10)]
    cells = sorted(int((x + 5) / 10 * 16) for x in found)
    assert len(set(cells)) == 10  # no two of the first ten in one sixteenth
    random = make_sampler(Sampling.RANDOM, SPACE, {"rule": "random"}, 1)
    assert random.propose(0, NOTHING) == make_sampler(Sampling.RANDOM, SPACE, {}, 1).propose(0, NOTHING)


def test_a_grid_has_as_many_proposals_as_points():
    sampler = make_sampler(Sampling.GRID, {"a": ["choice", [[1, 2, 3]]], "b": ["choice", [["x", "y"]]]}, {}, 0)
    assert sampler.total == 6
    assert sampler.propose(4, NOTHING).parameters == {"a": 3, "b": "x"}


def test_tpe_finds_better_values_than_chance():
    """Over five seeds, the middle of what each finds in 40 trials."""
    learned = statistics.median(min(t.values[0] for t in searched(Sampling.BAYESIAN, seed, 40)) for seed in range(5))
    chance = statistics.median(min(t.values[0] for t in searched(Sampling.RANDOM, seed, 40)) for seed in range(5))
    assert learned < chance / 2


def test_tpe_rebuilt_from_the_history_proposes_the_same():
    """A killed service asks a fresh sampler what the old one was asked."""
    done = searched(Sampling.BAYESIAN, 3, 15)
    sampler = make_sampler(Sampling.BAYESIAN, SPACE, {}, 3)
    running = Trial(15, {"x": 1.0, "n": 3, "c": "a"})
    history = History(Goal.MINIMIZE, [*done, running])
    sampler.propose(16, history)
    later = History(Goal.MINIMIZE, [*done, Trial(15, running.parameters, True, (3.0,)), Trial(16, done[0].parameters)])
    fresh = make_sampler(Sampling.BAYESIAN, SPACE, {}, 3)
    assert sampler.propose(17, later) == fresh.propose(17, later)


def test_tpe_learns_from_earlier_sweeps_and_ignores_what_does_not_fit():
    earlier = [Trial(at, {"x": 2.0, "n": 4, "c": "b"}, True, (0.0,)) for at in range(20)]
    earlier += [Trial(20 + at, {"x": -4.0, "n": 9, "c": "a"}, True, (42.0,)) for at in range(20)]
    earlier += [Trial(40, {"other": 1}, True, (0.0,)), Trial(41, {"x": 99.0, "n": 4, "c": "b"}, True, (0.0,))]
    sampler = make_sampler(Sampling.BAYESIAN, SPACE, {}, 0)
    found = [sampler.propose(at, History(Goal.MINIMIZE, [], earlier)).parameters for at in range(5)]
    assert all(each["c"] == "b" for each in found)
    assert all(each["x"] > -1 for each in found)


def test_tpe_lives_with_trials_that_failed_or_never_reported():
    trials = [Trial(at, {"x": 0.1 * at, "n": 1, "c": "a"}, True, (float(at),)) for at in range(12)]
    trials += [
        Trial(12, {"x": 1.0, "n": 2, "c": "b"}, True),
        Trial(13, {"x": 1.0, "n": 2, "c": "b"}, True, (float("nan"),)),
    ]
    sampler = make_sampler(Sampling.BAYESIAN, SPACE, {}, 0)
    parameters = sampler.propose(14, History(Goal.MAXIMIZE, trials)).parameters
    assert -5 <= parameters["x"] <= 5
    assert parameters["n"] in range(1, 11)


def test_tpe_knows_an_option_again_however_its_number_is_written():
    """An earlier sweep had choice(16.0, 32.0) or the same option twice."""
    space = {"batch": ["choice", [[16, 32, 32, 64]]]}
    sampler = make_sampler(Sampling.BAYESIAN, space, {}, 0)
    earlier = [Trial(at, {"batch": (16.0, 32.0, 64.0)[at % 3]}, True, (float(at % 3),)) for at in range(30)]
    found = [sampler.propose(at, History(Goal.MINIMIZE, [], earlier)).parameters["batch"] for at in range(8)]
    assert found.count(16) > 4
    assert {type(each) for each in found} == {int}


def population(*scores, size=5):
    """One generation, all over, with these scores."""
    space = {"lr": ["loguniform", [-6, -1]], "k": ["choice", [[1, 2, 3]]]}
    sampler = make_sampler(Sampling.POPULATION, space, {"population_size": size}, 4)
    trials = []
    for index, score in enumerate(scores):
        parameters = sampler.propose(index, History(Goal.MAXIMIZE, trials)).parameters
        trials.append(Trial(index, parameters, True, () if score is None else (score,)))
    return sampler, trials


def test_members_of_a_population_go_on_from_themselves_and_the_worst_from_the_best():
    sampler, trials = population(0.5, 0.9, 0.1, 0.4, 0.3)
    history = History(Goal.MAXIMIZE, trials)
    best = sampler.propose(6, history)
    assert (best.parameters, best.outputs_from) == (trials[1].parameters, 1)
    worst = sampler.propose(7, history)
    assert worst.outputs_from == 1
    assert worst.parameters != trials[2].parameters
    assert worst.parameters["k"] in (1, 2, 3)
    middle = sampler.propose(8, history)
    assert (middle.parameters, middle.outputs_from) == (trials[3].parameters, 3)


def test_a_population_goes_by_the_values_that_its_members_ended_with():
    """A member that was once the best and has diverged since has a bad checkpoint."""
    sampler, trials = population(0.5, 0.9, 0.1, 0.4, 0.3)
    trials[2] = Trial(2, trials[2].parameters, True, (0.99, 0.1))
    assert sampler.propose(6, History(Goal.MAXIMIZE, trials)).outputs_from == 1
    assert sampler.propose(7, History(Goal.MAXIMIZE, trials)).outputs_from == 1


@pytest.mark.parametrize(
    ("expression", "value", "may_be"),
    [
        (["randint", [4]], 1, {0, 2}),
        (["randint", [4]], 3, {2, 3}),
        (["quniform", [1, 9, 2]], 4, {2, 6}),
        (["qlognormal", [0, 1, 1]], 0, {0, 1}),
        (["uniform", [0.0, 1.0]], 0.5, {0.4, 0.6}),
        (["choice", [["a", "b", "c"]]], "b", {"a", "c"}),
    ],
)
def test_a_shaken_value_is_another_one_within_its_range(monkeypatch, expression, value, may_be):
    monkeypatch.setattr("trainyard.tuning.population._AGAIN", 0.0)
    assert {_shake(expression, value, random.Random(seed)) for seed in range(20)} == may_be


def test_a_generation_waits_for_the_one_before_it():
    sampler, trials = population(0.5, 0.9, 0.1, 0.4, 0.3)
    trials[4] = Trial(4, trials[4].parameters)
    assert sampler.propose(5, History(Goal.MAXIMIZE, trials)) is None


def test_a_member_that_failed_is_replaced_and_without_any_score_all_begin_anew():
    sampler, trials = population(0.5, 0.9, None, 0.4, 0.3)
    assert sampler.propose(7, History(Goal.MAXIMIZE, trials)).outputs_from == 1
    sampler, trials = population(None, None, size=2)
    assert sampler.propose(2, History(Goal.MAXIMIZE, trials)).outputs_from is None
