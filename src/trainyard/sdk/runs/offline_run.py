"""What Run.get_context() gives a script that is not part of a submitted run: everything is said, nothing is kept."""

from __future__ import annotations

from typing import Any

from trainyard.sdk.errors import UserErrorException
from trainyard.sdk.runs.metric_values import check_single


class OfflineRun:
    def __init__(self, run_id: str | None = None, parent: OfflineRun | None = None) -> None:
        self._run_id = run_id or f"OfflineRun_{_uuid()}"
        self._tags: dict[str, Any] = {}
        self._properties: dict[str, Any] = {}
        del parent  # an offline run has no parent to ask for

    @property
    def id(self) -> str:
        return self._run_id

    @property
    def name(self) -> str:
        return self._run_id

    def log(self, name: str, value: Any, description: str = "", step: int | None = None) -> None:
        del description, step
        check_single(name, value)
        _say("scalar metric", name, value)

    def log_list(self, name: str, value: Any, description: str = "") -> None:
        del description
        _say("list metric", name, list(value))

    def log_row(self, name: str, description: str | None = None, **kwargs: Any) -> None:
        del description
        _say("row metric", name, kwargs)

    def log_table(self, name: str, value: dict[str, Any], description: str = "") -> None:
        del description
        _say("table metric", name, value)

    def log_image(self, name: str, path: str | None = None, plot: Any = None, description: str = "") -> None:
        del description
        if (path is None) == (plot is None):
            raise UserErrorException("log_image needs either path='image.png' or plot=plt, and not both.")
        _say("image", name, path if plot is None else plot)

    def log_confusion_matrix(self, name: str, value: Any, description: str = "") -> None:
        del description
        _say("confusion matrix", name, value)

    def log_accuracy_table(self, name: str, value: Any, description: str = "") -> None:
        del description
        _say("accuracy table", name, value)

    def log_predictions(self, name: str, value: Any, description: str = "") -> None:
        del description
        _say("predictions", name, value)

    def log_residuals(self, name: str, value: Any, description: str = "") -> None:
        del description
        _say("residuals", name, value)

    def sync_tensorboard(self, folder: str | None = None) -> None:
        print(f"Attempted to log what TensorBoard's event files hold:\n{folder or './logs'}")

    def upload_file(self, name: str, path_or_stream: Any, datastore_name: str | None = None) -> None:
        del datastore_name
        print(f"Attempted to upload file {name}:\n{path_or_stream}")

    def upload_files(self, names: list[str], paths: list[str], *_: Any, **__: Any) -> None:
        for name, path in zip(names, paths, strict=True):
            self.upload_file(name, path)

    def upload_folder(self, name: str, path: str, datastore_name: str | None = None) -> None:
        del datastore_name
        print(f"Attempted to upload folder {name}:\n{path}")

    def tag(self, key: str, value: Any = None) -> None:
        self.set_tags({key: value})

    def set_tags(self, tags: dict[str, Any]) -> None:
        self._tags.update(tags)

    def remove_tags(self, tags: Any) -> None:
        for key in [tags] if isinstance(tags, str) else list(tags):
            self._tags.pop(key, None)

    def get_tags(self) -> dict[str, Any]:
        return dict(self._tags)

    def add_properties(self, properties: dict[str, Any]) -> None:
        self._properties.update(properties)

    def get_properties(self) -> dict[str, Any]:
        return dict(self._properties)

    def child_run(self, name: str | None = None, run_id: str | None = None, outputs: str | None = None) -> OfflineRun:
        del name, outputs
        return OfflineRun(run_id, self)

    def create_children(
        self, count: int | None = None, tag_key: str | None = None, tag_values: Any = None
    ) -> list[OfflineRun]:
        values = list(tag_values) if tag_values is not None else [None] * (count or 0)
        if not values:
            raise UserErrorException("create_children needs a count, or tag_key with tag_values.")
        made = [OfflineRun(parent=self) for _ in values]
        for run, value in zip(made, values, strict=True):
            if tag_key is not None:
                run.tag(tag_key, value)
        return made

    def start(self) -> None: ...

    def flush(self, timeout_seconds: float = 300) -> None:
        del timeout_seconds

    def complete(self, _set_status: bool = True) -> None: ...

    def fail(self, error_details: Any = None, error_code: str | None = None, _set_status: bool = True) -> None:
        if error_details:
            print(f"Attempted to fail the run:\n{error_details}")
        del error_code

    def cancel(self) -> None: ...

    def __enter__(self) -> OfflineRun:
        return self

    def __exit__(self, *_: Any) -> None:
        self.complete()

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(
            f"'OfflineRun' has no attribute {name!r}: this script is not part of a submitted run. Submit it with "
            "Experiment.submit(...), or check run.id.startswith('OfflineRun')."
        )

    def __repr__(self) -> str:
        return f"OfflineRun(Id: {self._run_id})"


def _uuid() -> str:
    import uuid

    return str(uuid.uuid4())


def _say(what: str, name: str, value: Any) -> None:
    print(f"Attempted to log {what} {name}:\n{value}")
