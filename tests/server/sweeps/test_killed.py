"""The service is killed in the middle of a sweep, at every statement in turn: nothing is doubled, nothing is lost."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import event, text

from trainyard.server.sweeps import conduct


class Killed(BaseException):
    """No `except Exception` sees it: what a process that is gone does not do, is not done."""


@contextmanager
def killed_at(yard, number: int) -> Iterator[list[str]]:
    """Everything ends at the statement of that number, counted from here; yields the statements that were reached."""
    reached: list[str] = []

    def count(connection, cursor, statement, *rest) -> None:
        reached.append(statement)
        if len(reached) == number:
            raise Killed

    engine = yard.context.db._engine
    event.listen(engine, "before_cursor_execute", count)
    try:
        yield reached
    except Killed:
        pass
    finally:
        event.remove(engine, "before_cursor_execute", count)


def goes_on(yard, sweep: str) -> None:
    """Its children are there, once each, and it goes on to its end."""
    yard.restart()
    yard.look()
    ended: set[int] = set()
    while yard.run(sweep)["state"] == "Running":
        for child in yard.sweep(sweep)["children"]:
            if child["state"] == "NotStarted" and child["index"] not in ended:
                ended.add(child["index"])
                yard.ends(child["index"], 0.1 * child["index"], sweep=sweep)
        yard.look()
    assert [child["run_id"] for child in yard.sweep(sweep)["children"]] == [f"{sweep}_{at}" for at in range(3)]
    below = {"query": f"attributes.parent = '{sweep}'"}
    assert len(yard.call("POST", f"{yard.url}/search", below).json["runs"]) == 3
    assert yard.log(sweep).count("started") == 3
    assert yard.log(sweep).count("Completed  acc") == 3
    assert yard.run(sweep)["properties"]["best_child_run_id"] == f"{sweep}_2"


def test_killed_at_every_statement_of_its_first_look(yard) -> None:
    number, reached = 0, ["none yet"]
    while len(reached) >= number:
        number += 1
        yard.create(f"HD_{number}", max_total_runs=3)
        with killed_at(yard, number) as reached:
            yard.look()
        goes_on(yard, f"HD_{number}")
    assert number > 15


def test_killed_at_every_statement_while_ends_are_taken_in_and_the_last_is_started(yard) -> None:
    number, reached = 0, ["none yet"]
    while len(reached) >= number:
        number += 1
        sweep = f"HD_{number}"
        yard.create(sweep, max_total_runs=3)
        yard.look()
        yard.ends(0, 0.0, sweep=sweep)
        with killed_at(yard, number) as reached:
            yard.look()
        goes_on(yard, sweep)
    assert number > 15


def test_a_service_that_is_killed_at_any_moment_starts_none_too_many(yard) -> None:
    yard.create(max_total_runs=5)
    for index in range(5):
        yard.restart()
        yard.look()
        yard.restart()
        yard.look()
        yard.ends(index, 0.1 * index)
    yard.restart()
    yard.look()
    assert yard.states() == ["Completed"] * 5
    assert yard.run()["state"] == "Completed"
    assert yard.log().count("started") == 5
    assert len(yard.log().splitlines()) == 12  # an opening, starts, ends, the end


def test_a_decision_that_does_not_commit_leaves_nothing(yard, monkeypatch) -> None:
    """Killed between a child's row and the sweep's: both are there, or neither."""
    yard.create()
    with monkeypatch.context() as patch:
        patch.setattr(conduct, "_ADD", text("SELECT 1 FROM no_such_table"))
        yard.look()
    assert yard.call("GET", f"{yard.url}/runs/HD_1_0").status == 404
    assert yard.sweep()["children"] == []
    yard.look()
    assert [child["run_id"] for child in yard.sweep()["children"]] == ["HD_1_0", "HD_1_1"]


def test_a_log_line_that_was_committed_is_in_the_log_once_whenever_the_service_is_killed(yard, monkeypatch) -> None:
    yard.create()
    write, written = conduct.Conductor._write_log, []

    def killed_at_the_second(self, *what) -> None:
        written.append(what)
        if len(written) == 1:
            write(self, *what)

    with monkeypatch.context() as patch:
        patch.setattr(conduct.Conductor, "_write_log", killed_at_the_second)
        yard.look()
    assert len(written) == 2
    assert yard.log().count("started") == 0
    yard.restart()
    yard.look()
    yard.restart()
    yard.look()
    assert yard.log().count("started") == 2


def test_two_conductors_of_one_database_start_each_child_once(yard) -> None:
    yard.create()
    other = conduct.Conductor(yard.context)
    yard.look()
    other.look()
    yard.ends(0, 0.1)
    other.look()
    yard.look()
    yard.ends(1, 0.1)
    yard.look()
    other.look()
    assert yard.states() == ["Completed", "Completed", "NotStarted", "NotStarted"]
