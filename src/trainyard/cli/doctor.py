"""`trainyard doctor`."""

from __future__ import annotations

import os

from trainyard.cli.checks import Check, Level, examine
from trainyard.cli.output import JsonFlag, console, show_json
from trainyard.sdk.service import Yard

MARKS = {Level.OK: ("✓", "green"), Level.WARN: ("!", "yellow"), Level.FAIL: ("✗", "bold red")}


def doctor(*, json: JsonFlag = False) -> int:
    """Say what is wrong with this installation and how to mend it. Changes nothing and starts nothing.

    Exits with 1 when something must be mended.
    """
    checks = examine(Yard.from_env(os.environ, start=False), os.environ)
    if json:
        show_json([{"check": c.name, "level": c.level.value, "found": c.found, "mend": c.mend or None} for c in checks])
    else:
        _show(checks)
    return 1 if any(check.level is Level.FAIL for check in checks) else 0


def _show(checks: list[Check]) -> None:
    from rich.table import Table
    from rich.text import Text

    grid = Table.grid(padding=(0, 1))
    grid.add_column()
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for check in checks:
        mark, style = MARKS[check.level]
        found = Text(check.found)
        if check.mend:
            found.append(f"\n→ {check.mend}", style=style)
        grid.add_row(Text(mark, style=style), Text(check.name, style="bold"), found)
    console().print(grid)
    bad = sum(check.level is Level.FAIL for check in checks)
    unsure = sum(check.level is Level.WARN for check in checks)
    if bad or unsure:
        console().print(f"\n{bad} to mend, {unsure} to know about.")
    else:
        console().print("\n[green]All is well.[/]")
