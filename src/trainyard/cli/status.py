"""`trainyard status`."""

from __future__ import annotations

from trainyard import __version__
from trainyard.cli.output import JsonFlag, age, console, iso, say, show_json
from trainyard.cli.place import open_yard


def status(*, json: JsonFlag = False) -> int:
    """Say whether the service runs and what it is doing. Starts nothing.

    Exits with 0 when a service answers and with 1 when none runs.
    """
    yard = open_yard(start=False)
    found = yard.status()
    if json:
        running = None if found is None else yard.http.url
        show_json(
            {
                "running": found is not None,
                "client_version": __version__,
                "home": yard.home.path if yard.home else None,
                "url": running,
                "version": found.version if found else None,
                "pid": found.pid if found else None,
                "started": iso(found.started_ns) if found else None,
                "active_runs": found.active_runs if found else 0,
                "services": found.services if found else 0,
                "workspaces": found.workspaces if found else None,
                "idle_stop_s": found.idle_stop_s if found else None,
            }
        )
    elif found is None:
        console().print(f"No service runs for {yard.where}. The next command that needs it starts it.", markup=False)
    else:
        show = console().print
        show(f"[green]●[/] Trainyard {found.version} at {yard.http.url}, process {found.pid}")
        show(f"  home         {found.home}")
        show(f"  started      {age(found.started_ns)}")
        show(f"  workspaces   {found.workspaces}")
        show(f"  active runs  {found.active_runs}")
        show(f"  services     {found.services}")
        if found.idle_stop_s:
            show(f"  stops        after {found.idle_stop_s} s without work")
        if found.version != __version__:
            say(f"This command is Trainyard {__version__}; `trainyard stop` makes room for the newer one.", "yellow")
    return 0 if found is not None else 1
