"""`trainyard retention list|add|remove|apply|sweep`."""

from __future__ import annotations

from typing import Annotated

from cyclopts import App, Parameter

from trainyard.cli.output import JsonFlag, WorkspaceOption, human_size, say, show_json, show_table, span
from trainyard.cli.place import open_place
from trainyard.cli.runs_delete import seconds, sentence
from trainyard.contract.codec import to_json
from trainyard.contract.retention import Rule, What

app = App(name="retention", help="Rules of what is deleted for good, and when. The service applies them every hour.")

DryRun = Annotated[bool, Parameter(name=["--dry-run", "-n"], negative="", help="Say what would go.")]


@app.command(name="list")
def list_(*, workspace: WorkspaceOption = None, json: JsonFlag = False) -> None:
    """List the rules.

    Try:

        trainyard retention list
    """
    place = open_place(workspace)
    _show(place.yard.retention(place.workspace.id).rules(), json)


@app.command
def add(
    name: Annotated[str, Parameter(help="A name for the rule.")],
    /,
    *,
    older_than: Annotated[str, Parameter(help="Since they ended: 30d, 12h, 2w.")],
    query: Annotated[str, Parameter(name=["--query", "-q"], help="Only runs that this finds; all without.")] = "",
    attempts: Annotated[bool, Parameter(negative="", help="Only attempts before a run's last.")] = False,
    workspace: WorkspaceOption = None,
    json: JsonFlag = False,
) -> None:
    """Have runs deleted when they are old enough.

    Try:

        trainyard retention add failures --older-than 7d -q 'status = Failed'
        trainyard retention add old --older-than 365d -q 'tags.keep is null'
    """
    place = open_place(workspace)
    rule = Rule(name, query, seconds(older_than), What.ATTEMPTS if attempts else What.RUNS)
    _show(place.yard.retention(place.workspace.id).add(rule), json)


@app.command
def remove(name: Annotated[str, Parameter(help="The rule's name.")], /, *, workspace: WorkspaceOption = None) -> None:
    """Remove a rule; what it deleted stays deleted.

    Try:

        trainyard retention remove failures
    """
    place = open_place(workspace)
    place.yard.retention(place.workspace.id).remove(name)
    say(f"Rule {name} is gone.")


@app.command
def apply(*, dry_run: DryRun = False, workspace: WorkspaceOption = None, json: JsonFlag = False) -> None:
    """Apply every rule now.

    Try:

        trainyard retention apply --dry-run
    """
    place = open_place(workspace)
    done = place.yard.retention(place.workspace.id).apply(dry_run=dry_run)
    if json:
        show_json([to_json(each) for each in done])
        return
    for each in done:
        say(f"{each.rule}: {sentence(each)}")
    if not done:
        say("There are no rules. `trainyard retention add` makes one.")


@app.command
def sweep(
    *,
    dry_run: DryRun = False,
    now: Annotated[bool, Parameter(negative="", help="Delete what was put aside, whenever that was.")] = False,
    workspace: WorkspaceOption = None,
    json: JsonFlag = False,
) -> None:
    """Free the space of content that no run, model or dataset names any more. It is
    put aside first and deleted a day later, unless somebody asks for it meanwhile.

    Try:

        trainyard retention sweep --dry-run
        trainyard retention sweep --now
    """
    place = open_place(workspace)
    swept = place.yard.retention(place.workspace.id).sweep(dry_run=dry_run, now=now)
    if json:
        show_json(to_json(swept))
        return
    would = "would be" if dry_run else "were"
    say(f"{swept.kept} pieces of content are named and stay.")
    say(f"{swept.aside} ({human_size(swept.aside_bytes)}) {would} put aside.")
    say(f"{swept.gone} ({human_size(swept.gone_bytes)}), put aside earlier, {would} deleted.")


def _show(rules: list[Rule], json: bool) -> None:
    if json:
        show_json([to_json(rule) for rule in rules])
        return
    rows = ([rule.name, rule.what, rule.query or "all", span(rule.older_than_s)] for rule in rules)
    show_table(["rule", "deletes", "of runs", "ended before"], rows, empty="There are no rules: nothing is deleted.")
