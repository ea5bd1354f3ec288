"""`trainyard stop`."""

from __future__ import annotations

import os
from typing import Annotated

from cyclopts import Parameter

from trainyard.cli.output import console, say
from trainyard.sdk.service import Yard


def stop(
    *, all: Annotated[bool, Parameter(negative="", help="Cancel active runs and end deployed services first.")] = False
) -> None:
    """End the service when nothing runs. The next command that needs it starts it
    again; nothing is lost. Deployed services go on answering, unless `--all` ends
    them too; then they answer again when the service is started again.

    Try:

        trainyard stop          # refused while runs are active
        trainyard stop --all    # cancels them first, and ends deployed services
    """
    yard = Yard.from_env(os.environ, start=False)
    status = yard.status()
    if all:
        say("Cancelling what runs and waiting for it to end …")
    if yard.stop(everything=all):
        console().print(f"The service of {yard.where} has stopped.", markup=False)
        if status is not None and status.services and not all:
            say(f"{status.services} deployed service(s) go on answering. `trainyard stop --all` ends them too.")
    else:
        console().print(f"No service runs for {yard.where}.", markup=False)
