"""A run's output on this terminal, as it is written, whatever happens to the service meanwhile."""

from __future__ import annotations

import http.client
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from trainyard.contract.errors import ServiceUnavailable, UnknownFile
from trainyard.contract.logs import of_rank
from trainyard.contract.runs import RunRecord
from trainyard.contract.states import TERMINAL

if TYPE_CHECKING:
    from trainyard.sdk.service import Runs

# How long to wait for news when there is nothing to read: short, because a log's first byte is not an event.
PAUSE_S = 0.25


def follow_ranks(runs: Runs, run: RunRecord, ranks: Sequence[int]) -> RunRecord:
    """The same of several processes: their lines as they come, each with its rank in front."""
    from trainyard.sdk.runs.following import DONE
    from trainyard.sdk.runs.rank_logs import RankLogs
    from trainyard.sdk.runs.run_stream import wait_for_end

    out = sys.stdout.buffer
    logs = RankLogs(runs, run.run_id, ranks, "")
    while (data := logs.chunks.get()) is not DONE:
        if isinstance(data, Exception):
            raise data
        out.write(data)
        out.flush()
    return wait_for_end(runs, run)


def print_ranks(runs: Runs, run: RunRecord, ranks: Sequence[int]) -> None:
    """What they have written so far, one after the other."""
    from trainyard.sdk.runs.rank_logs import marked

    out = sys.stdout.buffer
    for rank in ranks:
        lines = marked(rank, ranks, out.write)
        lines(runs.read_log(run.run_id, of_rank(rank)))
        lines.close()
    out.flush()


def follow_log(runs: Runs, run: RunRecord, name: str) -> RunRecord:
    """Writes the log to standard output until the run is over; answers the run as it ended. A service that goes away
    and comes back is asked to go on where it stopped: no byte is shown twice."""
    out = sys.stdout.buffer
    shown = 0
    while True:
        ended = run.state in TERMINAL  # looked at before reading, so that the last read is after the end
        pieces = runs.follow_log(run.run_id, name, shown)
        while True:
            try:
                data = next(pieces, None)
            except UnknownFile:
                break  # it has written nothing so far
            except (OSError, http.client.HTTPException, ServiceUnavailable):
                ended = False  # the stream was cut: look again
                break
            if data is None:
                break
            out.write(data)  # outside: a closed pipe or a full disk on this side is no stream that was cut
            out.flush()
            shown += len(data)
        if ended:
            return run
        run = runs.wait(run.run_id, run.events, PAUSE_S)
