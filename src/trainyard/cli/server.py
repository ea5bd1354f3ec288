"""`trainyard server`."""

from __future__ import annotations

import ipaddress
import os
import sys
from typing import Annotated

from cyclopts import Parameter

from trainyard.cli.output import say
from trainyard.contract.errors import InvalidRequest
from trainyard.sdk.service import Yard


def server(
    *,
    host: Annotated[str, Parameter(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int | None, Parameter(help="Port; without it, the home's own.")] = None,
    expose: Annotated[
        bool, Parameter(negative="", help="Yes, let other machines reach it: needed with a host that is not loopback.")
    ] = False,
) -> None:
    """Run the service in the foreground, for a team or to watch it. It stays when idle; Ctrl-C ends it, and runs go on.

    The embedded service that clients start by themselves is the same program.

    Try:

        trainyard server
        trainyard server --host 0.0.0.0 --port 8500 --expose
    """
    if not is_loopback(host) and not expose:
        raise InvalidRequest(
            f"{host} can be reached from other machines, and whoever has the token can then run programs on this one. "
            "If that is meant, say it with --expose; put a TLS proxy in front of it."
        )
    home = Yard.from_env({**os.environ, "TRAINYARD_ENDPOINT": ""}, start=False).home
    assert home is not None
    if (running := home.running()) is not None:
        raise InvalidRequest(
            f"A service of {home.path} already runs at {running.url} (process {running.pid}). "
            "End it first with `trainyard stop`, or set TRAINYARD_HOME to another folder."
        )
    say(f"Home {home.path}, the token is in {os.path.join(home.path, 'token')}. Ctrl-C ends the service; runs go on.")
    command = [sys.executable, "-m", "trainyard.server", "--home", home.path, "--host", host, "--stay"]
    if expose:
        command.append("--expose")
    if port is not None:
        command += ["--port", str(port)]
    os.execv(command[0], command)  # noqa: S606 - an argument list, and no shell


def is_loopback(host: str) -> bool:
    """Only what is surely loopback counts; a name could resolve to anything."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
