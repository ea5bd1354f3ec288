"""What a terminal, a notebook and a file get of a run's output."""

import io
from dataclasses import replace

import pytest

from trainyard.contract.runs import RunRecord
from trainyard.contract.states import RunState
from trainyard.sdk.runs.screen import Lines, Screen, elapsed

SECOND = 1_000_000_000
RUN = RunRecord("r", "w", "e", 1, RunState.PREPARING, "Building environment x", 0, 1, "ann", created_ns=0)


class Terminal(io.StringIO):
    def isatty(self):
        return True


class Clock:
    now_ns = 0

    def __call__(self):
        return self.now_ns


@pytest.mark.parametrize(
    ("pieces", "text"),
    [
        (["a\nb", "c\n"], "a\nbc\n"),
        (["\r 10%", "\r 20%", "\r100%\n"], "100%\n"),
        (["before\n 10%\r", " 20%\r", " 100%\nafter"], "before\n 100%\nafter"),
        (["10%", "\r20%", "\r30%\n"], "10%\r30%\n"),  # what was out before it was drawn over stays, in one line
        (["windows\r\n", "lines\r\n"], "windows\nlines\n"),
        (["\r 50%"], " 50%\n"),  # never ended
        (["half\r", "\r\n"], "half\n"),
        ([""], ""),
    ],
)
def test_a_progress_bar_is_one_line_of_a_file(pieces, text):
    lines = Lines()
    assert "".join([lines.feed(piece) for piece in pieces]) + lines.rest() == text


def test_a_terminal_draws_bars_itself():
    out = Terminal()
    Screen(out).write("\r 10%\r 20%")
    assert out.getvalue() == "\r 10%\r 20%"


def test_a_terminal_shows_how_long_the_run_has_been_at_it():
    out, clock = Terminal(), Clock()
    screen = Screen(out, clock)
    clock.now_ns = 61 * SECOND
    screen.progress(RUN)
    screen.progress(replace(RUN, started_ns=50 * SECOND), RunState.RUNNING)
    screen.write("a line\n")
    screen.close()
    assert out.getvalue() == "\r\x1b[KPreparing 1:01\r\x1b[KRunning 0:11\r\x1b[Ka line\n"


def test_a_bar_of_the_runs_own_is_not_drawn_over():
    out = Terminal()
    screen = Screen(out)
    screen.write("\r 10%")
    screen.progress(RUN)
    assert out.getvalue() == "\r 10%"


def test_a_file_hears_of_phases_that_take_long():
    out, clock = io.StringIO(), Clock()
    screen = Screen(out, clock)
    for clock.now_ns in (0, 4 * SECOND, 6 * SECOND, 8 * SECOND):
        screen.progress(RUN)
    screen.progress(replace(RUN, state=RunState.RUNNING, reason="Started"))
    screen.close()
    assert out.getvalue() == "Preparing: Building environment x\n"


@pytest.mark.parametrize(("seconds", "said"), [(4, "0:04"), (750, "12:30"), (3723, "1:02:03"), (-5, "0:00")])
def test_elapsed_time(seconds, said):
    assert elapsed(seconds * SECOND) == said


def test_what_an_encoding_has_no_character_for_is_shown_as_that():
    out = io.TextIOWrapper(io.BytesIO(), encoding="latin-1", newline="")
    screen = Screen(out)
    screen.write("caf\xe9 \u2588\u2588 50%\n")
    screen.close()
    assert out.buffer.getvalue() == b"caf\xe9 ?? 50%\n"
