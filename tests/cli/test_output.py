import json

import pytest

from trainyard.cli.output import age, console, fitting, human_size, iso, no_room, short_ids, show_json, show_table, span

SECOND = 10**9


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0.04, "0.0 s"),
        (3.14, "3.1 s"),
        (12.9, "12 s"),
        (60, "1 min"),
        (185, "3 min 5 s"),
        (7_800, "2 h 10 min"),
        (442_800, "5 d 3 h"),
        (-3, "0.0 s"),
    ],
)
def test_a_duration_is_said_in_at_most_two_units(seconds: float, said: str) -> None:
    assert span(seconds) == said


def test_an_age_counts_from_now() -> None:
    assert age(100 * SECOND, now_ns=190 * SECOND) == "1 min ago"
    assert age(100 * SECOND, now_ns=99 * SECOND) == "0 s ago"
    assert age(0, now_ns=49 * 3600 * SECOND) == "2 d ago"
    assert age(None) == ""


def test_times_are_utc_with_milliseconds() -> None:
    assert iso(1_700_000_000_123_456_789) == "2023-11-14T22:13:20.123Z"
    assert iso(None) is None


@pytest.mark.parametrize(("size", "said"), [(0, "0 B"), (999, "999 B"), (1_500, "1.5 kB"), (2 * 10**9, "2.0 GB")])
def test_sizes_have_units(size: int, said: str) -> None:
    assert human_size(size) == said


def test_a_table_in_a_pipe_keeps_each_row_on_one_line(capsys, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    console.cache_clear()
    run, target = "HD_dac3f232-7b42-4e40-822e-6ac32964d789", "a-cluster-with-a-long-name"
    show_table(["run", "target"], [[run, target]], "none")
    console.cache_clear()
    assert capsys.readouterr().out.splitlines()[1].split() == [run, target]


def test_what_others_wrote_stays_in_its_cell(capsys, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    console.cache_clear()
    show_table(["name", "last"], [["a\nb\x1b[2J", "\x9b1m"]], "none")
    console.cache_clear()
    assert capsys.readouterr().out.splitlines()[1].rstrip() == "a\\nb\\x1b[2J  \\x9b1m"


def test_columns_are_left_out_as_far_as_it_is_too_narrow(monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    console.cache_clear()
    headings, rows = ["run", "empty", "nodes", "target"], [["r" * 10, "", 1, "cluster"]]
    assert fitting(headings, rows, ["nodes", "target"], {}) == (["run", "target"], [["r" * 10, "cluster"]], ["nodes"])
    assert fitting(headings, rows, [], {}) == (["run", "nodes", "target"], [["r" * 10, 1, "cluster"]], [])
    named_alike = fitting(["run", "name", "name"], [["r" * 20, "the run's", "a parameter"]], ["name"], {})
    assert named_alike == (["run", "name"], [["r" * 20, "the run's"]], ["name"])
    console.cache_clear()


def test_a_short_id_is_as_long_as_it_takes_to_tell_it_from_the_others() -> None:
    assert short_ids(["first_1700000000_0a1b2c3d", "first_1700000000_0a1b2c3e"]) == ["…0a1b2c3d", "…0a1b2c3e"]
    assert short_ids(["a-000000001", "b-000000001", "a-000000001"]) == ["a-000000001", "b-000000001", "a-000000001"]
    assert short_ids(["HD_0123456789_1"]) == ["…456789_1"]


def test_what_there_is_no_room_for_is_named_up_to_a_point() -> None:
    assert no_room(["a", "b"]) == "No room for a, b."
    assert no_room([*"abcdefgh"]) == "No room for a, b, c, d, e, f and 2 more."


def test_json_is_what_every_program_reads(capsys) -> None:
    show_json({"values": [1.5, float("nan"), (float("inf"), -float("inf"))]})
    assert json.loads(capsys.readouterr().out, parse_constant=pytest.fail) == {
        "values": [1.5, "NaN", ["Infinity", "-Infinity"]]
    }
