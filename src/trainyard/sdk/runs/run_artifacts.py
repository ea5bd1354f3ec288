"""What is logged as a file of the run: images, and the tables that charts of a model's quality are drawn from. The
metric is a reference to the file."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Mapping
from typing import Any

from trainyard.contract.names import check_file_name
from trainyard.sdk.errors import AzureMLException, UserErrorException, sdk_errors
from trainyard.sdk.runs.attachments import Attachments
from trainyard.sdk.runs.metric_values import artifact_json, scalar
from trainyard.sdk.runs.run_files import RunFiles
from trainyard.sdk.runs.run_metrics import RunMetrics

_FLUSH_S = 300.0
_IMAGES = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF87a", b"GIF89a", b"BM", b"II*\0", b"MM\0*")
_SCHEMA_KEYS = ("schema_type", "schema_version", "data")
_NOT_IN_NAMES = re.compile(r"[\x00-\x1f\x7f/\\]")


class RunArtifacts(RunFiles, RunMetrics):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._attachments = Attachments(self._upload_logged, self._carried_from())
        self._taken: set[str] = set()

    def log_image(self, name: str, path: str | None = None, plot: Any = None, description: str = "") -> None:
        """Log an image: a file, or a matplotlib plot (what has `savefig`), which is kept as a PNG."""
        if (path is None) == (plot is None):
            raise AzureMLException(
                f"run.log_image({name!r}, ...) needs either path='image.png' or plot=plt, and not both."
            )
        if path is not None:
            file, content = _file_as_named(path), _image(path)
        else:
            file, content = self._new_file(name, "png"), _drawn(name, plot)
        self._attach(name, file, content, "image", description)

    def log_confusion_matrix(self, name: str, value: Any, description: str = "") -> None:
        """Log a confusion matrix: a dict (or its JSON) with schema_type, schema_version and data: {class_labels,
        matrix}."""
        self._log_schema(name, value, "confusion_matrix", description)

    def log_accuracy_table(self, name: str, value: Any, description: str = "") -> None:
        """Log an accuracy table: a dict (or its JSON) with schema_type, schema_version and data: {probability_tables,
        percentile_tables, ...}."""
        self._log_schema(name, value, "accuracy_table", description)

    def log_predictions(self, name: str, value: Any, description: str = "") -> None:
        """Log predictions against the truth: a dict (or its JSON) with schema_type, schema_version and data:
        {bin_averages, bin_errors, bin_counts, bin_edges}."""
        self._log_schema(name, value, "predictions", description)

    def log_residuals(self, name: str, value: Any, description: str = "") -> None:
        """Log the residuals of a regression: a dict (or its JSON) with schema_type, schema_version and data:
        {bin_edges, bin_counts}."""
        self._log_schema(name, value, "residuals", description)

    def flush(self, timeout_seconds: float = _FLUSH_S) -> None:
        """Return when the service has what was logged here so far, files included."""
        super().flush(timeout_seconds)
        if self._carried_from() is None:
            self._attachments.flush(timeout_seconds)

    def _log_schema(self, name: str, value: Any, kind: str, description: str) -> None:
        content = json.dumps(_schema(name, value, kind)).encode()
        self._attach(name, self._new_file(name, "json"), content, kind, description)

    def _attach(self, name: str, file: str, content: bytes, kind: str, description: str) -> None:
        if self._attachments.give(file, content):
            self._kept(self._tape.json(str(name), artifact_json(file, kind)), name, description)

    def _new_file(self, name: str, suffix: str) -> str:
        """`<name>_<unix seconds>`; what was logged in the same second, or by another rank, keeps a name of its own."""
        rank = f"_rank_{self._tape.rank}" if self._tape.rank else ""
        stem = f"{_NOT_IN_NAMES.sub('_', str(name))[:200].strip('. ') or 'image'}_{int(time.time())}{rank}"
        file, again = f"{stem}.{suffix}", 0
        while file in self._taken:
            again += 1
            file = f"{stem}_{again}.{suffix}"
        self._taken.add(file)
        return file

    def _carried_from(self) -> str | None:
        """Where an agent takes files from; an interactive run has none."""
        return None

    def _upload_logged(self, names: Any, paths: Any) -> None:
        self._upload(list(names), list(paths))

    def _settle(self) -> None:
        self._attachments.flush(_FLUSH_S)


def _file_as_named(path: Any) -> str:
    name = os.path.normpath(os.fspath(path)).replace(os.sep, "/").lstrip("/")
    name = "/".join(part for part in name.split("/") if part != "..")
    with sdk_errors():
        return check_file_name(name)


def _image(path: Any) -> bytes:
    try:
        with open(path, "rb") as file:
            content = file.read()
    except OSError as error:
        raise UserErrorException(f"The image {os.path.abspath(path)} cannot be read: {error.strerror}.") from error
    webp = content[:4] == b"RIFF" and content[8:12] == b"WEBP"
    if not (content.startswith(_IMAGES) or webp or b"<svg" in content[:1000]):
        raise AzureMLException(
            f"{path} is no image (PNG, JPEG, GIF, BMP, TIFF, WebP or SVG). Use run.upload_file(...) for other files."
        )
    return content


def _drawn(name: str, plot: Any) -> bytes:
    if not callable(getattr(plot, "savefig", None)):
        raise AzureMLException(
            f"run.log_image({name!r}, plot=...) takes a matplotlib figure or matplotlib.pyplot, not a "
            f"{type(plot).__name__}. Give an image file as path=."
        )
    import io

    drawn = io.BytesIO()
    plot.savefig(drawn, format="png")
    return drawn.getvalue()


def _schema(name: str, value: Any, kind: str) -> dict[str, Any]:
    if isinstance(value, str | bytes):
        try:
            value = json.loads(value)
        except ValueError as error:
            raise UserErrorException(f"run.log_{kind}({name!r}, ...) got text that is no JSON: {error}") from error
    if not isinstance(value, Mapping):
        raise UserErrorException(f"run.log_{kind}({name!r}, ...) takes a dict or its JSON, not a {_kind(value)}.")
    if missing := [key for key in _SCHEMA_KEYS if key not in value]:
        raise UserErrorException(
            f"run.log_{kind}({name!r}, ...) needs {', '.join(missing)}: "
            f"{{'schema_type': {kind!r}, 'schema_version': '1.0.0', 'data': {{...}}}}."
        )
    if value["schema_type"] not in (kind, kind.removesuffix("s")):
        raise UserErrorException(f"run.log_{kind}({name!r}, ...) got a schema_type of {value['schema_type']!r}.")
    plain: dict[str, Any] = _plain(value, name)
    return plain


def _plain(value: Any, name: str) -> Any:
    """numpy's arrays and numbers as JSON has them."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item, name) for key, item in value.items()}
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, list | tuple | set):
        return [_plain(item, name) for item in value]
    return scalar(value, name)


def _kind(value: Any) -> str:
    return type(value).__name__
