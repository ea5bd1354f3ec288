import pytest

from trainyard.contract.runs import Role, RunEvent, RunRecord, RunSpec
from trainyard.contract.states import RunState
from trainyard.sdk.errors import UserErrorException
from trainyard.sdk.runs.rank_logs import chosen_ranks, marked, notes, title


def record(launcher: str, nodes: int, *roles: Role) -> RunRecord:
    spec = RunSpec(launcher=launcher, nodes=nodes, roles=roles)
    return RunRecord("r", "w", "e", 1, RunState.RUNNING, "", 1, 1, "ada", 1, nodes=nodes, spec=spec)


def told(rank, ranks, *pieces):
    heard = []
    lines = marked(rank, ranks, heard.append)
    for piece in pieces:
        lines(piece)
    lines.close()
    return heard


def test_lines_come_whole_and_with_their_rank():
    assert told(1, [0, 1], b"one\ntw", b"o\n", b"end") == [b"[1] one\n", b"[1] two\n", b"[1] end\n"]
    assert told(3, range(12), b"a\nb\n") == [b"[ 3] a\n[ 3] b\n"]


@pytest.mark.parametrize(
    ("pieces", "shown"),
    [
        ((b" 10%\r 20%\r", b"done\r\n"), [b"[0] done\n"]),
        ((b"\r 10%", b"\r 2", b"0%", b"\r100%\nnext\n"), [b"[0] 100%\n[0] next\n"]),
        ((b"windows\r", b"\nlines\r\n\r\n"), [b"[0] windows\n[0] lines\n[0] \n"]),
        ((b"\r 10%\r 50%\r",), [b"[0]  50%\n"]),  # never ended
    ],
)
def test_a_progress_bar_is_one_line(pieces, shown):
    assert told(0, [0, 1], *pieces) == shown


def test_a_line_that_does_not_end_is_not_kept_for_ever():
    first, second = told(0, [0, 1], b"x" * 70_000, b"y")
    assert (first, second) == (b"[0] " + b"x" * 70_000 + b"\n", b"[0] y\n")


def test_one_rank_alone_is_shown_byte_by_byte():
    assert told(2, [2], b"\xff half", b" a line\r") == [b"\xff half", b" a line\r"]


def test_which_ranks_are_shown():
    four = record("mpi", 2, Role("worker", 4))
    assert chosen_ranks(four, None) == (0, 1, 2, 3)
    assert chosen_ranks(four, [3, 1, 3]) == (3, 1)
    assert chosen_ranks(record("single", 1), None) == ()
    assert chosen_ranks(record("single", 3), None) == (0, 1, 2)
    assert chosen_ranks(record("mpi", 1, Role("worker", 1)), None) == (0,)  # its log has a number all the same
    assert chosen_ranks(record("tf_config", 2, Role("worker", 2), Role("ps", 1)), None) == (0, 1, 2)
    assert chosen_ranks(record("mpi", 10, Role("worker", 1000)), None) == tuple(range(32))


@pytest.mark.parametrize(
    ("wanted", "says"), [([4], "no rank 4: its processes count from 0 to 3"), (["1"], "no rank '1'"), ([], "is empty")]
)
def test_ranks_that_there_are_not(wanted, says):
    with pytest.raises(UserErrorException, match=says):
        chosen_ranks(record("mpi", 2, Role("worker", 4)), wanted)


def test_the_heading_says_what_is_left_out():
    many = record("mpi", 10, Role("worker", 100))
    assert title(many, range(32)) == (
        "azureml-logs/70_driver_log_0.txt and 31 more, each line with its rank in front (68 more are not shown)"
    )
    assert title(many, [7]) == "azureml-logs/70_driver_log_7.txt"


def test_a_note_is_what_the_history_says_without_a_move():
    said = [
        (RunState.STARTING, "Placing"),
        (RunState.RUNNING, "Started"),
        (RunState.RUNNING, "All ranks"),
        (RunState.FINALIZING, "Ended"),
    ]
    events = [RunEvent(at, at, 1, state, reason, "service") for at, (state, reason) in enumerate(said, 1)]
    assert notes(events, 0) == ["All ranks"]
    assert notes(events, 2) == ["All ranks"]
    assert notes(events, 3) == []
