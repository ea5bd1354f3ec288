"""Runs below a run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from trainyard.contract.names import new_id
from trainyard.contract.runs import NewRun
from trainyard.sdk.errors import UserErrorException
from trainyard.sdk.labels import as_tags, run_query
from trainyard.sdk.runs.run_core import RunCore

if TYPE_CHECKING:
    from trainyard.sdk.runs.run import Run

MOST_CHILDREN = 100
_LONGEST_ID = 255


class RunChildren(RunCore):
    @property
    def parent(self) -> Run | None:
        parent = self._seen().parent_run_id
        return _run_of(self, self._runs.get(parent)) if parent else None

    def child_run(self, name: str | None = None, run_id: str | None = None, outputs: str | None = None) -> Run:
        """An interactive run below this one, open at once."""
        from trainyard.sdk.runs.run import Run

        new = NewRun(self._experiment.name, None, run_id or self._child_id(), self._run_id, display_name=name)
        record = self._runs.create(new)
        return Run(self._experiment, record.run_id, outputs, _record=record)

    def create_children(
        self, count: int | None = None, tag_key: str | None = None, tag_values: Any = None
    ) -> list[Run]:
        """Several runs below this one that wait for start(): `count`, or one for each of `tag_values`."""
        values = None if tag_values is None else list(tag_values)
        if (tag_key is None) != (values is None):
            raise UserErrorException("create_children needs tag_key and tag_values together, or count alone.")
        if count is None and values is None:
            raise UserErrorException("create_children needs a count, or tag_key with tag_values.")
        if count is not None and values is not None and count != len(values):
            raise UserErrorException(
                f"create_children has count={count} and {len(values)} tag_values. Leave count out."
            )
        total = len(values) if values is not None else int(count or 0)
        if not 1 <= total <= MOST_CHILDREN:
            raise UserErrorException(f"create_children makes 1 to {MOST_CHILDREN} runs at a time, not {total}.")
        made = []
        for at in range(total):
            tags = as_tags({tag_key: values[at]}) if values is not None else {}
            new = NewRun(self._experiment.name, None, self._child_id(), self._run_id, tags=tags, started=False)
            made.append(_run_of(self, self._runs.create(new)))
        return made

    def submit_child(self, config: Any, tags: dict[str, Any] | None = None, **kwargs: Any) -> Run:
        """Submits a configuration as a run below this one."""
        from trainyard.sdk.experiment import submit_config

        return submit_config(self._experiment, config, tags, self._run_id, **kwargs)

    def get_children(
        self, recursive: bool = False, tags: Any = None, properties: Any = None, type: Any = None, status: Any = None
    ) -> Iterator[Run]:
        """Newest first; with `recursive`, all below it."""
        query = run_query(type, tags, properties, status, parent_run_id=self._run_id, recursive=recursive)
        for record in self._runs.find_all(query):
            yield _run_of(self, record)

    def _child_id(self) -> str:
        own = new_id()[:8]
        return f"{self._run_id[: _LONGEST_ID - 1 - len(own)]}_{own}"


def _run_of(run: RunCore, record: Any) -> Run:
    from trainyard.sdk.experiment import Experiment
    from trainyard.sdk.runs.run import Run

    same = record.experiment == run.experiment.name
    return Run._of(run.experiment if same else Experiment(run.experiment.workspace, record.experiment), record)
