"""`trainyard workspace list|create`."""

from __future__ import annotations

from typing import Annotated

from cyclopts import App, Parameter

from trainyard.cli.output import JsonFlag, age, console, iso, show_json, show_table
from trainyard.cli.place import open_yard

app = App(name="workspace", help="Workspaces: list and create.")


@app.command(name="list")
def list_(*, json: JsonFlag = False) -> None:
    """List the workspaces of the service."""
    found = open_yard().workspaces.list()
    if json:
        show_json(
            [
                {
                    "name": workspace.name,
                    "id": workspace.id,
                    "subscription_id": workspace.subscription_id,
                    "resource_group": workspace.resource_group,
                    "location": workspace.location,
                    "created": iso(workspace.created_ns),
                    "created_by": workspace.created_by,
                }
                for workspace in found
            ]
        )
        return
    show_table(
        ["name", "resource group", "created"],
        ([workspace.name, workspace.resource_group, age(workspace.created_ns)] for workspace in found),
        empty="No workspace yet. `trainyard workspace create NAME` makes one.",
    )


@app.command
def create(
    name: Annotated[str, Parameter(help="3 to 33 letters, digits, '-' and '_'.")],
    /,
    *,
    resource_group: Annotated[str, Parameter(help="As config.json will name it.")] = "",
    exist_ok: Annotated[bool, Parameter(negative="", help="It may already be there.")] = False,
) -> None:
    """Make a workspace.

    Try:

        trainyard workspace create yard
    """
    made = open_yard().workspaces.create(name, resource_group=resource_group, exist_ok=exist_ok)
    console().print(f"Workspace {made.name} is there. Workspace.get(name={made.name!r}) opens it.", markup=False)
