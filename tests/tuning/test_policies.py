import math

from trainyard.contract.sweeps import Goal, Policy
from trainyard.tuning.history import History, Trial
from trainyard.tuning.policies import Asha, Bandit, Hyperband, Median, Truncation, make_policy


def history(*values, goal=Goal.MAXIMIZE, over=()):
    return History(goal, [Trial(index, {}, index in over, tuple(each)) for index, each in enumerate(values)])


def stopped(policy, known):
    return [stop.index for stop in policy.stops(known)]


def test_bandit_with_a_factor_compares_with_the_best_at_the_same_interval():
    """The example of the SDK's page: the best is 0.8 and the slack 0.2, so that below 0.8 / 1.2 = 0.667 a run ends."""
    policy = Bandit(factor=0.2)
    assert stopped(policy, history([0.8], [0.66], [0.67])) == [1]
    # run 0 has come further and is better there: at interval 1 it was not
    assert stopped(policy, history([0.5, 0.9], [0.45])) == []


def test_bandit_takes_a_runs_best_so_far_not_its_last_value():
    assert stopped(Bandit(factor=0.1), history([0.8, 0.8], [0.8, 0.1])) == []


def test_bandit_with_an_amount_in_either_direction():
    assert stopped(Bandit(amount=0.1), history([0.8], [0.71], [0.69])) == [2]
    assert stopped(Bandit(amount=0.1), history([0.8], [0.71], [0.69], [0.85], goal=Goal.MINIMIZE)) == [0, 3]


def test_bandit_when_minimising_and_below_zero():
    assert stopped(Bandit(factor=0.5), history([1.0], [1.4], [1.6], goal=Goal.MINIMIZE)) == [2]
    # the slack weakens the bound whatever the sign: -1.0 may be as bad as -0.5 when minimising
    assert stopped(Bandit(factor=0.5), history([-1.0], [-0.6], [-0.4], goal=Goal.MINIMIZE)) == [2]
    assert stopped(Bandit(factor=1.0), history([-1.0], [-1.4], [-1.6])) == [2]  # -1 - (1 - 1/2)


def test_intervals_and_delay():
    policy = Bandit(interval=2, delay=4, factor=0.1)
    bad, good = [0.1] * 5, [0.9] * 5
    assert stopped(policy, history(good[:3], bad[:3])) == []  # interval 2 comes before the delay is over
    assert stopped(policy, history(good[:4], bad[:4])) == [1]
    assert stopped(policy, history(good[:4], bad[:5])) == [1]  # judged at interval 4, the last one that counts
    assert stopped(policy, history(good[:3], bad[:4])) == []  # nobody to compare with at interval 4


def test_runs_that_are_over_count_but_are_not_stopped():
    assert stopped(Bandit(factor=0.1), history([0.9], [0.1], [0.1], over=(0, 1))) == [2]


def test_nan_is_a_report_and_no_value():
    assert stopped(Bandit(factor=0.1), history([0.9, 0.9], [math.nan, 0.1], [math.nan, math.nan])) == [1]


def test_median_stopping_compares_the_best_with_the_averages():
    # averages over two intervals: 0.5, 0.3, 0.2; their median is 0.3
    known = history([0.4, 0.6], [0.3, 0.3], [0.1, 0.3], [0.1, 0.2])
    # averages 0.5 0.3 0.2 0.15, median 0.25; best values 0.6 0.3 0.3 0.2
    assert stopped(Median(), known) == [3]
    assert stopped(Median(), history([0.4], [0.3], [0.2], goal=Goal.MINIMIZE)) == [0]


def test_truncation_ends_the_lowest_share():
    values = [[0.1 * (at + 1)] for at in range(10)]
    assert stopped(Truncation(20), history(*values)) == [0, 1]
    assert stopped(Truncation(20), history(*values, goal=Goal.MINIMIZE)) == [8, 9]
    assert stopped(Truncation(20), history(*values[:4])) == []  # a fifth of four is no whole run
    assert stopped(Truncation(20), history(*values, over=(0, 1))) == []  # the lowest have ended already


def test_asha_keeps_the_best_third_at_each_rung():
    values = [[0.1 * (at + 1)] for at in range(6)]
    assert stopped(Asha(1, 3), history(*values)) == [0, 1, 2, 3]
    assert stopped(Asha(1, 3), history(*values[:2])) == []  # too few to compare
    assert stopped(Asha(2, 3), history(*values)) == []
    far = [[0.0, 0.0, 0.1 * (at + 1)] for at in range(3)]
    assert stopped(Asha(1, 3), history(*far)) == [0, 1]


def test_hyperband_deals_runs_to_brackets():
    policy = Hyperband(9, 3)
    assert policy.brackets() == [1] * 9 + [3] * 5 + [9] * 3
    values = [[0.1 * (at + 1)] for at in range(17)]
    assert stopped(policy, history(*values)) == [0, 1, 2, 3, 4, 5]  # only the eager bracket looks at interval 1


def test_hyperband_lets_a_run_that_is_through_save_what_it_has_learned():
    """At its last interval there is nothing left to be saved by ending it."""
    policy = Hyperband(9, 3)
    through = [[0.1 * (at + 1)] * 9 for at in range(17)]
    assert stopped(policy, history(*through)) == []
    before = [[0.1 * (at + 1)] * 8 for at in range(17)]
    assert stopped(policy, history(*before)) == [*range(6), *range(9, 12)]


def test_policies_are_made_of_their_properties():
    assert make_policy(Policy.BANDIT, {"slack_factor": 0.1, "delay_evaluation": 5}) == Bandit(1, 5, 0.1, None)
    assert make_policy(Policy.TRUNCATION, {"truncation_percentage": 10, "evaluation_interval": 2}) == Truncation(
        10, 2, 0
    )
    assert stopped(make_policy(Policy.NONE, {}), history([0.9], [0.1])) == []
