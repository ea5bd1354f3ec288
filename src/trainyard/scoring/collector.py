"""ModelDataCollector: what a service was asked and what it answered, as CSV files of a day."""

from __future__ import annotations

import csv
import datetime
import fcntl
import io
import os
import re
import sys
import uuid
from typing import Any, Sequence

FOLDER_VARIABLE = "TRAINYARD_COLLECT"
_CORRELATION = "$aml_dc_correlation_id"
_TIME = "$aml_dc_scoring_timestamp"
_BOUNDARY = "$aml_dc_boundary"
_DAY_MINUTES = 1440  # one file holds a day


class ModelDataCollector:
    """Writes below the folder that the service's owner chose; without one it does nothing, as in the original."""

    def __init__(
        self,
        model_name: str,
        designation: str = "default",
        feature_names: Sequence[str] | None = None,
        workspace: str = "default/default/default",
        webservice_name: str = "default",
        model_version: str = "default",
        collection_name: str = "default",
        identifier: str | None = None,
    ) -> None:
        self.model_name = str(model_name)
        self.designation = identifier or designation  # identifier: its name in the first release
        self.feature_names = None if feature_names is None else [str(name) for name in feature_names]
        self.workspace = workspace
        if workspace == "default/default/default":
            self.workspace = _workspace(os.environ)
        self.webservice_name = _unless_default(webservice_name, os.environ.get("SERVICE_NAME"))
        self.model_version = _unless_default(str(model_version), None)
        self.collection_name = self.designation if collection_name == "default" else collection_name
        self._folder = os.environ.get(FOLDER_VARIABLE)
        if not self._folder:
            print(
                f"Data of the model {self.model_name} is not collected: the service was deployed without "
                "collect_model_data=True.",
                file=sys.stderr,
            )

    def collect(self, input_data: Any, user_correlation_id: str = "") -> dict[str, str] | None:
        """One row for each row of a list, array or DataFrame. Gives back what add_correlations() takes."""
        if not self._folder:
            return None
        now = datetime.datetime.now(datetime.timezone.utc)
        correlations = self._correlations(now, user_correlation_id) if self.designation == "inputs" else None
        columns, rows = _table(input_data)
        if correlations is not None:
            columns, rows = _with(columns, rows, correlations)
        self._append(now, columns, rows)
        return correlations

    def add_correlations(self, input_data: Any, correlations: dict[str, str] | None) -> Any:
        """The same data with the columns by which an answer is found again to its request."""
        if not correlations:
            return input_data
        if hasattr(input_data, "assign"):
            return input_data.assign(**correlations)
        columns, rows = _table(input_data)
        return _with(columns, rows, correlations)[1]

    def _correlations(self, now: datetime.datetime, given: str) -> dict[str, str]:
        number = str(uuid.uuid4())
        return {
            _CORRELATION: given or number,
            _TIME: now.replace(tzinfo=None).isoformat(),
            _BOUNDARY: str(_DAY_MINUTES),
            "$aml_workspace": self.workspace,
            "$aml_service_name": self.webservice_name,
            "$aml_model_name": self.model_name,
            "$aml_model_version": self.model_version,
            "$aml_request_id": number,
        }

    def _path(self, now: datetime.datetime) -> str:
        """As in the original's container: workspace, service, model, version, designation, day. A name is one folder,
        whatever it holds."""
        assert self._folder is not None
        names = [
            *self.workspace.split("/"),
            self.webservice_name,
            self.model_name,
            self.model_version,
            self.designation,
        ]
        day = [f"{now.year}", f"{now.month:02d}", f"{now.day:02d}"]
        return os.path.join(self._folder, *map(_folder_name, names), *day, f"{_folder_name(self.collection_name)}.csv")

    def _append(self, now: datetime.datetime, columns: list[str] | None, rows: list[list[Any]]) -> None:
        path = self._path(now)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "ab", buffering=0) as file:
            fcntl.flock(file, fcntl.LOCK_EX)  # other processes of the service write here too
            names = columns or self.feature_names
            if file.tell() == 0 and names:
                extra = len(rows[0]) - len(names) if rows else 0
                rows = [[*names, *list(self._correlations(now, ""))[:extra]], *rows]
            text = io.StringIO()
            csv.writer(text, lineterminator="\n").writerows(rows)
            file.write(text.getvalue().encode("utf-8"))


def _table(data: Any) -> tuple[list[str] | None, list[list[Any]]]:
    """Column names where the data has them, and the rows."""
    if hasattr(data, "columns") and hasattr(data, "values"):
        return [str(name) for name in data.columns], data.values.tolist()
    values = data.tolist() if hasattr(data, "tolist") else data
    if not isinstance(values, (list, tuple)):
        values = [values]
    if not any(isinstance(value, (list, tuple)) for value in values):
        values = [values]
    return None, [list(value) if isinstance(value, (list, tuple)) else [value] for value in values]


def _with(
    columns: list[str] | None, rows: list[list[Any]], more: dict[str, str]
) -> tuple[list[str] | None, list[list[Any]]]:
    names = None if columns is None else [*columns, *more]
    return names, [[*row, *more.values()] for row in rows]


def _workspace(variables: Any) -> str:
    parts = ("AZUREML_ARM_SUBSCRIPTION", "AZUREML_ARM_RESOURCEGROUP", "AZUREML_ARM_WORKSPACE_NAME")
    return "/".join(variables.get(part) or "default" for part in parts)


def _unless_default(given: str, known: str | None) -> str:
    return known if given == "default" and known else given


def _folder_name(name: str) -> str:
    """No name leads out of the folder."""
    return re.sub(r"[^\w.@ -]", "_", name).strip(". ") or "_"
