"""Where wait_for_completion prints: a terminal gets a line that says how the run is getting on, below what it writes; a
file gets neither that nor every state of a progress bar."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TextIO

from trainyard.contract.runs import RunRecord
from trainyard.contract.states import RunState

_ERASE = "\r\x1b[K"
_WORTH_A_LINE_S = 5.0  # how long a phase lasts before a file gets a line about it

PHASES = {
    RunState.NOT_STARTED: "Waiting",
    RunState.PREPARING: "Preparing",
    RunState.QUEUED: "Queued",
    RunState.PROVISIONING: "Scaling",
    RunState.STARTING: "Starting",
    RunState.RUNNING: "Running",
    RunState.CANCEL_REQUESTED: "Canceling",
    RunState.FINALIZING: "Post-processing",
}


def put(out: TextIO, text: str) -> None:
    """At once. What the output's encoding has no character for becomes '?': an old terminal is no reason to stop."""
    try:
        out.write(text)
    except UnicodeEncodeError as error:
        out.write(text.encode(error.encoding, "replace").decode(error.encoding))
    out.flush()


class Screen:
    def __init__(self, out: TextIO, now_ns: Callable[[], int] = time.time_ns) -> None:
        self._out = out
        self._now_ns = now_ns
        self.live = _is_terminal(out)
        self._raw = self.live or _is_notebook(out)
        self._lines = Lines()
        self._at_start = True  # of a line
        self._shown = ""
        self._phase: RunState | None = None
        self._since_ns = 0
        self._told = False

    def write(self, text: str) -> None:
        """What the run wrote."""
        text = text if self._raw else self._lines.feed(text)
        if not text:
            return
        self.clear()
        put(self._out, text)
        self._at_start = text.endswith("\n")

    def heading(self, text: str) -> None:
        self.write("" if self._raw else self._lines.rest())
        self.clear()
        put(self._out, text)
        self._at_start = True

    def progress(self, record: RunRecord, state: RunState | None = None) -> None:
        """How the run is getting on. `state`: what it must be in by now, should the record be older."""
        state = state or record.state
        phase = PHASES.get(state, state.value)
        if state is not self._phase:
            self._phase, self._since_ns, self._told = state, self._now_ns(), False
        if not self.live:
            if not self._told and self._now_ns() - self._since_ns >= _WORTH_A_LINE_S * 1e9 and self._at_start:
                self._told = True
                put(self._out, f"{phase}: {record.reason}\n")
            return
        if self._at_start:  # else a progress bar of the run's own is being drawn there
            began = record.started_ns if state is RunState.RUNNING and record.started_ns else record.created_ns
            self._shown = f"{phase} {elapsed(self._now_ns() - began)}"
            put(self._out, f"{_ERASE}{self._shown}")

    def clear(self) -> None:
        """Take the progress line away."""
        if self._shown:
            self._out.write(_ERASE)
            self._shown = ""

    def close(self) -> None:
        rest = "" if self._raw else self._lines.rest()
        self.clear()
        put(self._out, rest)


class Lines:
    """Text as a file should have it: of a line that was drawn over and over (a carriage return, as tqdm does), what
    stood there in the end. Lines without one pass as they come, piece by piece."""

    def __init__(self) -> None:
        self._held = ""  # of the current line, from its last carriage return on
        self._begun = False  # whether some of the current line was given out

    def feed(self, text: str) -> str:
        if "\r" not in text and not self._held:
            if text:
                self._begun = not text.endswith("\n")
            return text
        *whole, rest = (self._held + text).split("\n")
        found = "".join(self._last_state(line) + "\n" for line in whole)
        if "\r" in rest:
            self._held = "\r" + _segments(rest)[-1] + ("\r" if rest.endswith("\r") else "")
        else:
            self._held = ""
            found += rest
            self._begun = bool(rest)
        return found

    def rest(self) -> str:
        """The line that was never ended."""
        held, self._held = self._held, ""
        return self._last_state(held) + "\n" if held else ""

    def _last_state(self, line: str) -> str:
        begun, self._begun = self._begun, False
        if "\r" not in line:
            return line
        drawn = [segment for segment in _segments(line) if segment]
        if not drawn:
            return ""
        over = begun and not (len(drawn) == 1 and not line.startswith("\r"))
        return ("\r" if over else "") + drawn[-1]


def _segments(line: str) -> list[str]:
    """What was drawn over one another; a carriage return at the end has drawn nothing yet."""
    return line.rstrip("\r").split("\r")


def elapsed(ns: int) -> str:
    """0:04, 12:30, 1:02:03."""
    minutes, seconds = divmod(max(0, ns) // 1_000_000_000, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"


def _is_terminal(out: TextIO) -> bool:
    try:
        return out.isatty()
    except (AttributeError, ValueError):  # something else that prints, or closed
        return False


def _is_notebook(out: TextIO) -> bool:
    """Notebooks draw over a line by themselves."""
    return type(out).__module__.partition(".")[0] in ("ipykernel", "google")
