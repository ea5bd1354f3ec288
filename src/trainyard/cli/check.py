"""`trainyard check PATH`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from trainyard.cli.output import JsonFlag, console, show_json
from trainyard.contract.errors import InvalidRequest

if TYPE_CHECKING:
    from trainyard.cli.checking.findings import Finding, Kind
    from trainyard.cli.checking.report import Report

_MARKS = {
    "here": ("✓", "green"),
    "missing": ("✗", "bold red"),
    "gone": ("✗", "bold red"),
    "unread": ("✗", "bold red"),
    "ignored": ("!", "yellow"),
    "shim": ("~", "cyan"),
    "pin": ("!", "yellow"),
    "address": ("→", "blue"),
}


def check(
    path: Annotated[Path, Parameter(help="A folder, a notebook or a script.")] = Path(),
    /,
    *,
    all: Annotated[bool, Parameter(negative="", help="Show the names that are here, too.")] = False,
    online: Annotated[bool, Parameter(negative="", help="Ask each data address whether it is there.")] = False,
    json: JsonFlag = False,
) -> int:
    """Read notebooks and scripts and say what will run here, what a helper brings back, and what cannot be had.

    Nothing is run and nothing is changed. Exits with 1 when something in them is not there.
    """
    from trainyard.cli.checking.report import check as examine

    if not path.exists():
        raise InvalidRequest(f"There is nothing at {path}. Give a folder, a notebook or a script.")
    report = examine(path, os.environ, online=online)
    if json:
        show_json(report.to_json())
    else:
        _show(report, everything=all)
    return 1 if report.stopped else 0


def _show(report: Report, *, everything: bool) -> None:
    from trainyard.cli.checking.findings import Kind

    for file in report.files:
        found = report.of(file)
        shown = [it for it in found if everything or it.kind is not Kind.HERE]
        if shown:
            _show_file(file, shown, here=sum(it.kind is Kind.HERE for it in found))
    _summary(report)


def _show_file(file: str, findings: list[Finding], here: int) -> None:
    from rich.table import Table
    from rich.text import Text

    stops = any(it.kind.stops for it in findings)
    title = Text(file, style="bold red" if stops else "bold")
    title.append(f"  {here} SDK name(s) here" if here else "", style="dim")
    console().print(title, soft_wrap=True)
    grid = Table.grid(padding=(0, 1, 0, 0))
    grid.add_column(width=2)
    grid.add_column(justify="right", no_wrap=True, style="dim")
    grid.add_column(overflow="fold", max_width=44)
    grid.add_column(overflow="fold", style="dim")
    for finding in _merged(findings):
        mark, style = _MARKS[finding[0].kind.value]
        lines = ", ".join(str(it.place) for it in finding[:2]) + (" …" if len(finding) > 2 else "")
        others = len({it.name for it in finding}) - 1
        name = finding[0].name + (f" and {others} more" if others else "")
        grid.add_row(Text(f" {mark}", style=style), Text(lines), Text(name), Text(finding[0].note))
    console().print(grid)
    console().print()


def _merged(findings: list[Finding]) -> list[list[Finding]]:
    """The same thing on several lines is one row."""
    rows: dict[tuple[Kind, str], list[Finding]] = {}
    for finding in findings:
        key = finding.note if finding.kind.value == "address" else finding.name
        rows.setdefault((finding.kind, key), []).append(finding)
    return list(rows.values())


def _summary(report: Report) -> None:
    from trainyard.cli.checking.findings import Kind
    from trainyard.cli.checking.report import most_wanted

    names, missing = report.count(Kind.HERE, Kind.MISSING), report.count(Kind.MISSING)
    out = console()
    out.print(f"[bold]{len(report.files)} file(s) read, {len(report.using)} use the SDK.[/]")
    if names:
        out.print(f"  [green]✓[/] {names - missing} of {names} uses of SDK names are here")
    words = {
        Kind.MISSING: "are not; most often",
        Kind.GONE: "old name(s) that nothing brings back",
        Kind.IGNORED: "setting(s) without an effect here",
        Kind.SHIM: "old name(s) that run with helpers (TRAINYARD_RELAX_PINS=1, or environment.python.shims = 'auto')",
        Kind.PIN: "version(s) without a build for today's Python (TRAINYARD_RELAX_PINS=1 takes the nearest)",
        Kind.ADDRESS: "data address(es) to look at",
        Kind.UNREAD: "part(s) that could not be read",
    }
    for kind, said in words.items():
        if count := report.count(kind):
            mark, style = _MARKS[kind.value]
            wanted = ", ".join(f"{name} ({times})" for name, times in most_wanted(report, kind, 5))
            out.print(f"  [{style}]{mark}[/] {count} {said}" + (f" {wanted}" if kind is Kind.MISSING else ""))
    if report.stopped:
        out.print(f"[bold red]{len(report.stopped)} file(s) cannot run as they are.[/]")
    elif report.files:
        helped = " with TRAINYARD_RELAX_PINS=1" if report.count(Kind.SHIM, Kind.PIN) else ""
        data = ", if its data are where it looks for them" if report.count(Kind.ADDRESS) else ""
        out.print(f"[bold green]All of it can run here{helped}{data}.[/]")
    else:
        out.print("No notebook and no script there.")
