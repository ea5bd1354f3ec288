"""What a fork of the guardian does once it has let go of the guardian's own things."""

from __future__ import annotations

import os
import sys

from trainyard.agent import cgroup, life, system
from trainyard.agent.roster import Attempt, write_exit
from trainyard.contract.attempts import ATTEMPT_VARIABLE


def run_agent(
    attempt: Attempt, node: int, order: str, argv: tuple[str, ...], variables: dict[str, str], group: str | None
) -> None:
    """In the fork, to its end: our own program is called, any other is executed with its order on standard input."""
    code = 1
    try:
        os.environ.update({**variables, ATTEMPT_VARIABLE: attempt.id})
        if argv[1:] == ("-m", "trainyard.agent"):
            code = life.main(order, group)
            sys.stderr.flush()
        else:
            system.become_subreaper()
            cgroup.enter(group)
            read, write = os.pipe()
            os.write(write, order.encode() + b"\n")
            os.dup2(read, 0)
            os.execvp(argv[0], argv)  # noqa: S606 - an argument list, no shell
    except Exception:  # noqa: BLE001 - the fork must not go on as a second guardian
        sys.excepthook(*sys.exc_info())
        code = 1
    finally:
        write_exit(attempt.file(node, "exit"), code)
        os._exit(code)
