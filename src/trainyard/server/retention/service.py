"""Deletes runs for good, with all they have; and what is left of attempts that were not the last.

Nothing that lives is touched: a run that has not ended, or has one below it that has not, is refused by name. Files are
names for content; content that nothing names any more is content.py's.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from dataclasses import replace

from sqlalchemy import Connection, delete, insert, select

from trainyard.contract.errors import AlreadyExists, Conflict, InvalidRequest, NotFound
from trainyard.contract.names import check_name
from trainyard.contract.retention import Deleted, Deletion, Rule, What
from trainyard.contract.search import RunSearch
from trainyard.contract.states import TERMINAL, RunState
from trainyard.server.context import Context
from trainyard.server.data import service as data
from trainyard.server.metrics import service as metrics
from trainyard.server.mlflow import service as mlflow
from trainyard.server.retention.tables import retention_rules
from trainyard.server.runs import cleaning
from trainyard.server.runs.query import parse
from trainyard.server.runs.records import RunRow, run_row
from trainyard.server.runs.search import ended_keys

AT_ONCE = 200  # runs in one transaction: others want to write too
_SECOND = 1_000_000_000


def perform(context: Context, workspace_id: str, asked: Deletion) -> Deleted:
    """What was deleted, or would be."""
    with context.db.read() as tx:
        chosen = _chosen(tx, context, workspace_id, asked)
        if asked.what is What.ATTEMPTS:
            having = cleaning.with_old_attempts(tx, [row.key for row in chosen])
            chosen = [row for row in chosen if row.key in having]
            found = Deleted(True, asked.what, tuple(row.run_id for row in chosen))
            found = replace(found, attempts=cleaning.old_attempts(tx, [row.key for row in chosen]))
        else:
            found = _weighed(tx, context, chosen)
    if asked.dry_run or not chosen:
        return replace(found, dry_run=asked.dry_run)
    # children before their parents, and newest first: who is interrupted leaves no run without its parent
    keys = sorted((row.key for row in chosen), reverse=True)
    for at in range(0, len(keys), AT_ONCE):
        with context.db.write() as tx:
            if asked.what is What.ATTEMPTS:
                cleaning.drop_old_attempts(tx, keys[at : at + AT_ONCE])
            else:
                _delete(tx, context, workspace_id, keys[at : at + AT_ONCE])
    return replace(found, dry_run=False)


def rules(tx: Connection, workspace_id: str) -> list[Rule]:
    chosen = select(retention_rules).where(retention_rules.c.workspace_id == workspace_id)
    return [
        Rule(row.name, row.query, row.older_than_s, What(row.what))
        for row in tx.execute(chosen.order_by(retention_rules.c.name))
    ]


def add_rule(tx: Connection, workspace_id: str, principal: str, rule: Rule, now_ns: int) -> None:
    check_name("an experiment", rule.name)  # the same letters
    parse(rule.query)
    if rule.older_than_s <= 0 and not rule.query:
        raise InvalidRequest("A rule that fits every run at once would delete all of them. Say older_than or a query.")
    if any(known.name == rule.name for known in rules(tx, workspace_id)):
        raise AlreadyExists(f"There is a rule named {rule.name!r} already. Remove it first, or choose another name.")
    values = {"query": rule.query, "older_than_s": rule.older_than_s, "what": rule.what.value, "created_ns": now_ns}
    row = {"workspace_id": workspace_id, "name": rule.name, "created_by": principal, **values}
    tx.execute(insert(retention_rules), row)


def remove_rule(tx: Connection, workspace_id: str, name: str) -> None:
    here = (retention_rules.c.workspace_id == workspace_id) & (retention_rules.c.name == name)
    if tx.execute(delete(retention_rules).where(here)).rowcount == 0:
        raise NotFound(f"There is no rule named {name!r}. `trainyard retention list` shows those there are.")


def apply_rules(context: Context, workspace_id: str, *, dry_run: bool) -> list[Deleted]:
    """Each rule's runs. What has not ended, or is above what has not, waits for the next time."""
    with context.db.read() as tx:
        known = rules(tx, workspace_id)
    done = []
    for rule in known:
        asked = Deletion((), None, rule.query, rule.older_than_s, rule.what, dry_run)
        done.append(replace(perform(context, workspace_id, asked), rule=rule.name))
    return done


def delete_workspace_runs(context: Context, workspace_id: str) -> None:
    """The same before a workspace goes. One deletion takes many runs, but not any number."""
    while perform(context, workspace_id, Deletion(query="", dry_run=False)).run_ids:
        pass


def delete_experiment_runs(context: Context, workspace_id: str, experiment: str) -> None:
    """Before an experiment goes: all of its runs, with what rows alone do not take along."""
    while perform(context, workspace_id, Deletion(experiment=experiment, dry_run=False)).run_ids:
        pass


def remove_all(tx: Connection, workspace_id: str) -> None:
    """The workspace goes, and its rules with it."""
    tx.execute(delete(retention_rules).where(retention_rules.c.workspace_id == workspace_id))


def _chosen(tx: Connection, context: Context, workspace_id: str, asked: Deletion) -> list[RunRow]:
    """Named runs must be deletable; of what a search finds, those that are."""
    if not asked.run_ids and asked.experiment is None and asked.query is None:
        raise InvalidRequest("Which runs? Give run_ids, an experiment or a query.")
    oldest = context.clock() - asked.older_than_s * _SECOND if asked.older_than_s > 0 else None
    if asked.run_ids:
        named = [run_row(tx, workspace_id, run_id) for run_id in asked.run_ids]
        families = [cleaning.family(tx, row.key) for row in named]
        for row, family in zip(named, families, strict=True):
            if live := next((each for each in family if RunState(each.state) not in TERMINAL), None):
                below = "" if live.key == row.key else f", which is below {row.run_id},"
                raise Conflict(f"Run {live.run_id}{below} is {live.state}. Cancel it first: `trainyard runs cancel`.")
    else:
        experiments = () if asked.experiment is None else (asked.experiment,)
        search = RunSearch(asked.query or "", experiments, archived="all")
        keys = ended_keys(tx, context, workspace_id, search, oldest or context.clock(), cleaning.MOST)
        families = [cleaning.family(tx, key) for key in keys]
    chosen: dict[int, RunRow] = {}
    for family in families:
        if _may_go(family, oldest):
            chosen.update((row.key, row) for row in family)
    return list(chosen.values())


def _may_go(family: Sequence[RunRow], oldest: int | None) -> bool:
    """Whether all have ended, and long ago."""
    return all(RunState(row.state) in TERMINAL and (oldest is None or (row.ended_ns or 0) <= oldest) for row in family)


def _weighed(tx: Connection, context: Context, chosen: Sequence[RunRow]) -> Deleted:
    keys = [row.key for row in chosen]
    files, size = cleaning.files_of(tx, keys)
    return Deleted(
        True,
        What.RUNS,
        tuple(row.run_id for row in chosen),
        metrics.how_many(tx, keys),
        files,
        size,
        sum(size for key in keys for _, size in context.logs.listing(key)),
        cleaning.attempts_of(tx, keys),
    )


def _delete(tx: Connection, context: Context, workspace_id: str, keys: Sequence[int]) -> None:
    """Rows and folders while nobody else writes: a database may give a key to the next run."""
    rows = cleaning.rows_of(tx, keys)
    for row in rows:
        if RunState(row.state) not in TERMINAL:
            raise Conflict(f"Run {row.run_id} is {row.state} now. Cancel it first: `trainyard runs cancel`.")
    metrics.forget(tx, keys)
    mlflow.forget(tx, workspace_id, [(row.key, row.run_id) for row in rows])
    data.forget_uses(tx, workspace_id, [row.run_id for row in rows])
    cleaning.delete_rows(tx, keys)
    for key in keys:
        context.logs.forget(key)
        shutil.rmtree(os.path.join(context.settings.folder("spool"), str(int(key))), ignore_errors=True)
