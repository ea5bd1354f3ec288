"""Experiment: a name that runs are gathered under."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import TYPE_CHECKING, Any

from trainyard.contract.errors import InvalidName
from trainyard.contract.names import check_name
from trainyard.contract.runs import ExperimentRecord
from trainyard.sdk.effects import tell_once
from trainyard.sdk.errors import UserErrorException, sdk_errors
from trainyard.sdk.labels import as_names, as_tags, run_query
from trainyard.sdk.runs.run import Run

if TYPE_CHECKING:
    from trainyard.sdk.workspace import Workspace

_DOCS_URL = "https://docs.microsoft.com/en-us/python/api/azureml-core/azureml.core.experiment.Experiment"


class ViewType(Enum):
    ActiveOnly = "active"
    ArchivedOnly = "archived"
    All = "all"

    @classmethod
    def of(cls, value: Any) -> ViewType:
        """The member, or what later versions of the SDK say instead: its name."""
        named = {member.name: member for member in cls}
        if (found := value if isinstance(value, cls) else named.get(str(value))) is None:
            raise UserErrorException(f"view_type is {value!r}; it must be one of {', '.join(map(repr, named))}.")
        return found


class Experiment:
    """Making one creates the experiment if it is not there."""

    def __init__(
        self, workspace: Workspace, name: str, *, _record: ExperimentRecord | None = None, **kwargs: Any
    ) -> None:
        for given in kwargs:
            if not given.startswith("_"):
                tell_once(f"Experiment: {given} has no effect with Trainyard.")
        with sdk_errors():
            self._name = check_name("an experiment", name)
        self._workspace = workspace
        # a job knows its experiment's name and needs no service for that
        self._record = _record or (None if workspace._in_job else workspace._clients.experiments.ensure(name))

    @property
    def workspace(self) -> Workspace:
        return self._workspace

    @property
    def workspace_object(self) -> Workspace:
        return self._workspace

    @property
    def name(self) -> str:
        return self._name

    @property
    def id(self) -> str:
        return self._known().id

    @property
    def identity(self) -> str:
        return f"Experiment({self._name})"

    @property
    def tags(self) -> dict[str, str | None]:
        return dict(self._known().tags)

    @property
    def archived_time(self) -> str | None:
        from trainyard.sdk.times import iso

        return iso(self._known().archived_ns)

    @property
    def portal_url(self) -> str:
        return self.get_portal_url()

    def get_portal_url(self) -> str:
        base = self._workspace._connection.http.url
        return f"{base}/workspaces/{self._workspace.name}/experiments/{self._name}"

    @classmethod
    def get_docs_url(cls) -> str:
        return _DOCS_URL

    def submit(self, config: Any, tags: dict[str, Any] | None = None, **kwargs: Any) -> Run:
        """Queues a run of `config` and returns at once. What can be wrong with it is told before anything is queued."""
        return submit_config(self, config, tags, None, **kwargs)

    def start_logging(self, *args: Any, **kwargs: Any) -> Run:
        """An interactive run, open for logging in this process. See trainyard.sdk.runs.interactive.start."""
        from trainyard.sdk.runs.interactive import start

        return start(self, *args, **kwargs)

    def get_runs(
        self, type: Any = None, tags: Any = None, properties: Any = None, include_children: bool = False
    ) -> Iterator[Run]:
        """Newest first."""
        return Run.list(self, type, tags, properties, include_children=include_children)

    def search_runs(self, query: str = "", order_by: Any = (), max_results: int | None = None) -> Iterator[Run]:
        """Runs of this experiment that a query finds; see Workspace.search_runs."""
        from trainyard.sdk.runs.run_search import search_runs

        return search_runs(self._workspace, query, order_by, self._name, max_results)

    @staticmethod
    def list(
        workspace: Workspace,
        experiment_name: str | None = None,
        view_type: ViewType | str = ViewType.ActiveOnly,
        tags: Any = None,
    ) -> list[Experiment]:
        wanted = run_query(tags=tags).tags
        found = workspace._clients.experiments.list(ViewType.of(view_type).value)
        return [
            Experiment(workspace, record.name, _record=record)
            for record in found
            if experiment_name in (None, record.name) and _has_tags(record, wanted)
        ]

    @staticmethod
    def delete(workspace: Workspace, experiment_id: str) -> None:
        """With all its runs, their metrics, logs and files: there is no way back. `archive` only hides it."""
        workspace._clients.experiments.delete(experiment_id)

    @staticmethod
    def from_directory(path: str, auth: Any = None) -> Experiment:
        """The experiment a folder belongs to: the workspace of its config.json, the experiment of the folder's name."""
        import os

        from trainyard.sdk.workspace import Workspace

        workspace = Workspace.from_config(path, auth=auth)
        name = os.path.basename(os.path.realpath(path if os.path.isdir(path) else os.path.dirname(path)))
        try:
            check_name("an experiment", name)
        except InvalidName as error:
            raise UserErrorException(f"The folder's name is no experiment name: {error.message}", error) from error
        return Experiment(workspace, name)

    def archive(self) -> None:
        self._record = self._workspace._clients.experiments.update(self._name, archived=True)

    def reactivate(self, new_name: str | None = None) -> None:
        """Takes the experiment out of the archive, under a new name if its own was taken meanwhile."""
        self._record = self._workspace._clients.experiments.update(self._name, archived=False, new_name=new_name)
        self._name = self._record.name

    def refresh(self) -> None:
        self._record = self._workspace._clients.experiments.get(self._name)

    def tag(self, key: str, value: Any = None) -> None:
        self.set_tags({key: value})

    def set_tags(self, tags: dict[str, Any]) -> None:
        self._record = self._workspace._clients.experiments.update(self._name, set_tags=as_tags(tags))

    def remove_tags(self, tags: Any) -> None:
        self._record = self._workspace._clients.experiments.update(self._name, remove_tags=as_names(tags))

    def __repr__(self) -> str:
        return f"Experiment(Name: {self._name},\nWorkspace: {self._workspace.name})"

    def _repr_html_(self) -> str:
        from trainyard.sdk import html

        url = self.get_portal_url()
        return html.table(
            {
                "Name": self._name,
                "Workspace": self._workspace.name,
                "Report Page": ("Link to Trainyard", url),
                "Docs Page": ("Link to Documentation", self.get_docs_url()),
            }
        )

    def _known(self) -> ExperimentRecord:
        if self._record is None:
            self._record = self._workspace._clients.experiments.get(self._name)
        return self._record


def submit_config(
    experiment: Experiment, config: Any, tags: dict[str, Any] | None, parent_run_id: str | None, **kwargs: Any
) -> Run:
    """Each kind of configuration knows how it is submitted."""
    submit = getattr(config, "_submit_to", None)
    if submit is None:
        raise UserErrorException(
            f"A {type(config).__name__} cannot be submitted. Give submit() a ScriptRunConfig, such as "
            "ScriptRunConfig(source_directory='.', script='train.py')."
        )
    run: Run = submit(experiment, tags, parent_run_id, **kwargs)
    return run


def _has_tags(record: ExperimentRecord, wanted: dict[str, str | None]) -> bool:
    return all(name in record.tags and (value is None or record.tags[name] == value) for name, value in wanted.items())
