"""Run: one execution, followed from its start to its end and read afterwards."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, ClassVar, TextIO

from trainyard.contract.names import check_name
from trainyard.contract.runs import RunChange, RunError, RunRecord
from trainyard.contract.states import TERMINAL, RunState
from trainyard.sdk.errors import (
    ActivityFailedException,
    ExperimentExecutionException,
    RunEnvironmentException,
    UserErrorException,
    sdk_errors,
)
from trainyard.sdk.labels import as_names, as_properties, as_tags, run_query
from trainyard.sdk.runs.run_children import RunChildren
from trainyard.sdk.runs.run_logs import RunLogs
from trainyard.sdk.runs.run_models import RunModels

if TYPE_CHECKING:
    from trainyard.sdk.environments.environment import Environment
    from trainyard.sdk.experiment import Experiment
    from trainyard.sdk.runs.interactive import OutputCopy
    from trainyard.sdk.workspace import Workspace

_DOCS_URL = "https://docs.microsoft.com/en-us/python/api/azureml-core/azureml.core.run.Run"


class Run(RunLogs, RunModels, RunChildren):
    _factories: ClassVar[dict[str, Callable[..., Run]]] = {}

    def __init__(self, experiment: Experiment, run_id: str, outputs: str | None = None, **kwargs: Any) -> None:
        super().__init__(experiment, run_id, outputs, **kwargs)
        self._output_copy: OutputCopy | None = None

    # Finding runs

    @classmethod
    def get_context(cls, allow_offline: bool = True, used_for_context_manager: bool = False, **kwargs: Any) -> Any:
        """The run this process is part of; outside of a job, an offline run that prints what it is told."""
        del used_for_context_manager, kwargs
        from trainyard.sdk.runs.submitted_run import run_of_this_process

        if (run := run_of_this_process()) is not None:
            return run
        if not allow_offline:
            raise RunEnvironmentException(
                "This process is not part of a submitted run. Submit the script with Experiment.submit(...), or use "
                "Run.get_context() to have metrics printed instead."
            )
        from trainyard.sdk.runs.offline_run import OfflineRun

        return OfflineRun()

    @classmethod
    def get_submitted_run(cls, **kwargs: Any) -> Any:
        return cls.get_context(allow_offline=False, **kwargs)

    @staticmethod
    def get(workspace: Workspace, run_id: str) -> Run:
        from trainyard.sdk.experiment import Experiment

        with sdk_errors():
            check_name("a run", run_id)
        record = workspace._clients.runs.get(run_id)
        return Run._of(Experiment(workspace, record.experiment), record)

    @staticmethod
    def list_by_compute(
        compute: Any, type: Any = None, tags: Any = None, properties: Any = None, status: Any = None
    ) -> Iterator[Run]:
        """The runs of a compute target; those that are not over unless `status` says otherwise."""
        from trainyard.sdk.experiment import Experiment

        live = [state for state in RunState if state not in TERMINAL]
        query = run_query(type, tags, properties, status or live, target=compute.name, include_children=True)
        for record in compute.workspace._clients.runs.find_all(query):
            yield Run._of(Experiment(compute.workspace, record.experiment), record)

    @staticmethod
    def add_type_provider(runtype: str, run_factory: Callable[..., Run]) -> None:
        """Runs of this type are made with `run_factory(experiment, run_id)` from now on."""
        if not runtype or not callable(run_factory):
            raise ValueError("add_type_provider needs a type's name and something that makes its runs")
        Run._factories[runtype] = run_factory

    # What it is

    @property
    def identity(self) -> str:
        return f"Run({self._run_id})"

    @property
    def name(self) -> str | None:
        return self.display_name

    @property
    def number(self) -> int:
        return self._seen().number

    @property
    def type(self) -> str | None:
        return self._seen().type

    @property
    def status(self) -> str:
        return self.get_status()

    @property
    def display_name(self) -> str | None:
        return self._current().display_name

    @display_name.setter
    def display_name(self, name: str) -> None:
        self._saw(self._runs.change(self._run_id, RunChange(display_name=name)))

    @property
    def description(self) -> str | None:
        return self._current().description

    @description.setter
    def description(self, text: str) -> None:
        self._saw(self._runs.change(self._run_id, RunChange(description=text)))

    @property
    def portal_url(self) -> str:
        return self.get_portal_url()

    def get_portal_url(self) -> str:
        workspace = self._experiment.workspace
        return f"{workspace._connection.http.url}/workspaces/{workspace.name}/runs/{self._run_id}"

    @classmethod
    def get_docs_url(cls) -> str:
        return _DOCS_URL

    def get_status(self) -> str:
        return self._current().state.value

    def get_detailed_status(self) -> dict[str, Any]:
        record = self._current()
        return {"status": record.state.value, "details": record.reason}

    def get_details(self) -> dict[str, Any]:
        from trainyard.sdk.runs import run_details

        workspace, logs = self._experiment.workspace, self._logs(self._log_url)
        return run_details.details(workspace, self._fresh(), logs, self._uses())

    def get_environment(self) -> Environment:
        """The environment of a submitted run. Submitted again as it is, it is built from the run's own lock."""
        from trainyard.sdk.environments.environment import Environment

        spec = self._fresh().spec
        if spec is None:
            raise UserErrorException(f"Run {self._run_id} was not submitted, so it has no environment of its own.")
        environment = Environment.from_definition(spec.environment.definition)
        environment.python.lock = spec.environment.lock or environment.python.lock
        return environment

    def get_secret(self, name: str) -> str:
        return self.get_secrets([name])[name]

    def get_secrets(self, secrets: list[str]) -> dict[str, str]:
        """Of the workspace's key vault: see Workspace.get_default_keyvault."""
        found = self._experiment.workspace._clients.vault.values(secrets)
        if missing := [name for name in secrets if found[name] is None]:
            raise UserErrorException(
                f"The workspace's key vault has no {', '.join(missing)}. Put it there from outside the run: "
                "workspace.get_default_keyvault().set_secret(name, value)."
            )
        return {name: str(value) for name, value in found.items()}

    # Snapshots

    def get_snapshot_id(self) -> str | None:
        record = self._seen()
        return record.snapshot_id or record.properties.get("ContentSnapshotId")

    def take_snapshot(self, file_or_folder_path: str) -> str:
        """Keeps the folder as it is now; the first one taken is the run's own."""
        from trainyard.sdk.submitting.submit import take_snapshot

        snapshot_id, properties = take_snapshot(self._experiment.workspace, file_or_folder_path)
        if self._current().properties.get("ContentSnapshotId") is None:
            self.add_properties(properties)
        return snapshot_id

    def restore_snapshot(self, snapshot_id: str | None = None, path: str | None = None) -> str:
        """Writes the run's source as `<snapshot id>.zip` into the folder `path` (here without one); answers where."""
        from trainyard.blobs.snapshot import write_zip

        if (wanted := snapshot_id or self.get_snapshot_id()) is None:
            raise UserErrorException(f"Run {self._run_id} has no snapshot. Only runs with a source directory have one.")
        folder = os.path.abspath(path or os.curdir)
        os.makedirs(folder, exist_ok=True)
        file = os.path.join(folder, f"{os.path.basename(wanted)}.zip")
        with sdk_errors():
            write_zip(self._experiment.workspace._connection.blobs(), wanted, file)
        return file

    # Tags and properties

    @property
    def tags(self) -> dict[str, str | None]:
        return dict(self._seen().tags)

    def get_tags(self) -> dict[str, str | None]:
        return dict(self._fresh().tags)

    def tag(self, key: str, value: Any = None) -> None:
        self.set_tags({key: value})

    def set_tags(self, tags: dict[str, Any]) -> None:
        self._saw(self._runs.change(self._run_id, RunChange(set_tags=as_tags(tags))))

    def remove_tags(self, tags: Any) -> None:
        self._saw(self._runs.change(self._run_id, RunChange(remove_tags=as_names(tags))))

    @property
    def properties(self) -> dict[str, str]:
        return dict(self._seen().properties)

    def get_properties(self) -> dict[str, str]:
        return dict(self._fresh().properties)

    def add_properties(self, properties: dict[str, Any]) -> None:
        """Properties are written once: a second value for one is refused."""
        self._saw(self._runs.change(self._run_id, RunChange(add_properties=as_properties(properties))))

    # Its life

    def start(self) -> None:
        self._saw(self._runs.start(self._run_id))

    def complete(self, _set_status: bool = True) -> None:
        """Ends an interactive run well, with its outputs uploaded."""
        self._end_writing()
        if _set_status:
            self._saw(self._runs.complete(self._run_id))

    def fail(self, error_details: Any = None, error_code: str | None = None, _set_status: bool = True) -> None:
        """Ends an interactive run as failed. `error_details` is text or an exception."""
        self._end_writing()
        if _set_status:
            message = str(error_details) if error_details else "The run was marked as failed."
            self._saw(self._runs.fail(self._run_id, RunError(error_code or "UserError", message)))

    def cancel(self) -> None:
        """Asks for the end of the run and of everything below it. A run that has ended stays as it is."""
        self._saw(self._runs.cancel(self._run_id))

    def clean(self) -> list[str]:
        """What a run leaves on its target: nothing, its folders go when it ends."""
        return []

    def wait_for_completion(
        self, show_output: bool | list[int] = False, wait_post_processing: bool = False, raise_on_error: bool = True
    ) -> dict[str, Any]:
        """Returns get_details() when the run has ended; with `show_output`, prints what it writes until then: of
        several processes all of it, or that of a list of ranks.

        A failed run raises ActivityFailedException unless `raise_on_error` is False; a canceled one does not. Its files
        are collected while it is Finalizing, so that is always waited for, with or without `wait_post_processing`.
        """
        from trainyard.sdk.runs import run_details, run_stream

        del wait_post_processing
        try:
            wait = run_stream.wait_for_end
            record = self._saw(self._stream(show_output) if show_output else wait(self._runs, self._fresh()))
        except KeyboardInterrupt as interrupt:
            raise ExperimentExecutionException(
                f"Waiting for run {self._run_id} was interrupted; the run itself goes on. Come back with "
                f"Run.get(workspace, '{self._run_id}').wait_for_completion(show_output=True) or "
                f"`trainyard runs logs -f {self._run_id}`, or end it with run.cancel().",
                interrupt,
            ) from interrupt
        if record.state is RunState.FAILED and raise_on_error:
            message, error = run_details.failure_message(record.error)
            raise ActivityFailedException(error_details=error, exception_message=message)
        return self.get_details()

    def __enter__(self) -> Run:
        if self._collected:
            from trainyard.sdk.runs.interactive import OutputCopy

            self._output_copy = OutputCopy()
        return self

    def __exit__(self, _kind: Any, error: BaseException | None, _trace: Any) -> None:
        if self._output_copy is not None:
            with contextlib.closing(self._output_copy) as copy:
                self.upload_file("logs/user_log.txt", copy.path)
        if error is None or (isinstance(error, SystemExit) and error.code in (None, 0)):
            self.complete()
        else:
            self.fail(error_details=f"{error.__class__.__name__}: {error}")

    def __repr__(self) -> str:
        record = self._seen()
        said = f"Experiment: {record.experiment},\nId: {self._run_id},\nType: {record.type},\nStatus: {record.state}"
        return f"Run({said})"

    def _repr_html_(self) -> str:
        from trainyard.sdk import html

        record = self._current()
        return html.table(
            {
                "Experiment": record.experiment,
                "Id": self._run_id,
                "Type": record.type or "",
                "Status": record.state.value,
                "Details Page": ("Link to Trainyard", self.get_portal_url()),
                "Docs Page": ("Link to Documentation", self.get_docs_url()),
            }
        )

    @staticmethod
    def _of(experiment: Experiment, record: RunRecord) -> Run:
        """The run of a record, as the class of its type."""
        from trainyard.sdk.runs import run_types  # noqa: F401 - registers itself

        factory = Run._factories.get(record.type or "", Run)
        return factory(experiment, record.run_id, _record=record)

    def _end_writing(self) -> None:
        """What the run still has here goes to the service before it ends."""
        for name, folder in self._collected.items():
            if os.path.isdir(folder):
                self.upload_folder(name, folder)
        self.flush()

    def _stream(self, show: bool | list[int]) -> RunRecord:
        from trainyard.sdk.runs.screen import put

        out, url = sys.stdout, self.get_portal_url()
        put(out, f"RunId: {self._run_id}\nWeb View: {url}\n")
        record = self._follow(out, show)
        said = f"\nExecution Summary\n=================\nRunId: {self._run_id}\nWeb View: {url}\n"
        if record.warnings:
            said += "\nWarnings:\n" + "".join(f"{warning}\n" for warning in record.warnings)
        if record.error is not None:
            said += f"\nError:\n{record.error.message}\n"
        put(out, said + "\n")
        return record

    def _follow(self, out: TextIO, show: bool | list[int]) -> RunRecord:
        from trainyard.sdk.runs import run_stream

        return run_stream.stream_to_end(self._runs, self._fresh(), out, show if isinstance(show, list) else None)

    # last: below it `list` would mean this method

    @staticmethod
    def list(
        experiment: Experiment,
        type: Any = None,
        tags: Any = None,
        properties: Any = None,
        status: Any = None,
        include_children: bool = False,
    ) -> Iterator[Run]:
        """Newest first; top-level runs only unless `include_children`."""
        query = run_query(type, tags, properties, status, experiment=experiment.name, include_children=include_children)
        for record in experiment.workspace._clients.runs.find_all(query):
            yield Run._of(experiment, record)


def get_run(experiment: Experiment, run_id: str, rehydrate: bool = True, clean_up: bool = True) -> Run:
    """The run of that id, as the class of its type unless `rehydrate` is False."""
    del clean_up
    return Run.get(experiment.workspace, run_id) if rehydrate else Run(experiment, run_id)
