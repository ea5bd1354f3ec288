"""`python -m trainyard.backends.far_end HOME`: the other end of an attached machine's connection. It does there, with
that machine's own guardian, what the service asks: JSON lines in, JSON lines out, until the connection ends."""

from __future__ import annotations

import json
import os
import platform
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from trainyard import __version__
from trainyard.backends.base import Backend, Placement
from trainyard.backends.local import Local, agent_argv
from trainyard.contract.codec import from_json, to_json
from trainyard.contract.errors import InvalidRequest, TrainyardError

AGENT = "@agent"  # in the place of the agent's command line, which is this machine's own


def answer(backend: Backend, home: str, request: dict[str, Any]) -> Any:
    verb = request["verb"]
    if verb == "hello":
        return {**_machine(), "home": home, "version": __version__}
    if verb == "submit":
        placement = from_json(Placement, request["placement"])
        if placement.argv == (AGENT,):
            placement = replace(placement, argv=agent_argv())
        return backend.submit(backend.plan(placement))
    if verb == "observe":
        seen = backend.observe(request["handles"])
        return {handle: [observed.state.value, observed.detail] for handle, observed in seen.items()}
    if verb == "cancel":
        return backend.cancel(request["handle"], float(request["grace_s"]))
    if verb == "logs":
        return backend.logs(request["handle"])
    if verb == "close":
        return backend.close()
    raise InvalidRequest(f"The far end does not know the verb {verb!r}. Is it of another version?")


def _machine() -> dict[str, Any]:
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    gpus = len([it for it in Path("/dev").glob("nvidia*") if it.name.removeprefix("nvidia").isdigit()])
    return {
        "cores": len(os.sched_getaffinity(0)),
        "memory_gb": round(pages / 2**30, 1),
        "gpus": gpus,
        "host": platform.node(),
        "python": platform.python_version(),
    }


def main() -> int:
    home = os.path.abspath(os.path.expanduser(sys.argv[1]))
    os.makedirs(home, mode=0o700, exist_ok=True)
    backend = Local(home, isolated=True)
    for line in sys.stdin:
        try:
            said: dict[str, Any] = {"answer": to_json(answer(backend, home, json.loads(line)))}
        except TrainyardError as error:
            said = {"error": error.to_json()}
        except (ValueError, KeyError, TypeError, OSError) as error:
            said = {"error": TrainyardError(f"The attached machine could not do it: {error!r}.").to_json()}
        print(json.dumps(said), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
