"""scikit-learn: one fitted estimator in one file."""

from __future__ import annotations

import os
import pickle
from typing import Any, Hashable, Sequence

from trainyard.scoring.model import Arrays, Asked, ModelScorer, Port
from trainyard.scoring.scorer import CannotLoad, Refused

_METHODS = (
    "predict",
    "predict_proba",
    "predict_log_proba",
    "decision_function",
    "transform",
    "score_samples",
    "apply",
    "kneighbors",
)


class Estimator(ModelScorer):
    def load(self) -> None:
        path = self.assignment.model_path or ""
        if not os.path.isfile(path):
            raise CannotLoad(
                "One file with a fitted estimator was expected, as joblib.dump(model, 'model.pkl') writes it."
            )
        try:
            self._model = unpickled(path)
        except Exception as error:  # a pickle may throw anything
            raise CannotLoad(
                f"The estimator cannot be read here: {type(error).__name__}: {error}. Register it with the "
                "model_framework_version that it was saved with, or deploy it with an inference_config whose "
                "environment has all that it needs."
            ) from error
        self._methods = [name for name in _METHODS if callable(getattr(self._model, name, None))]
        if not self._methods:
            raise CannotLoad(
                f"The file holds a {type(self._model).__name__}, which has none of {', '.join(_METHODS)}. Save the "
                "fitted estimator itself, with joblib.dump."
            )
        self._default = "predict_proba" if "predict_proba" in self._methods else self._methods[0]
        count = getattr(self._model, "n_features_in_", None)
        self._names = [str(name) for name in getattr(self._model, "feature_names_in_", [])]
        self._port = Port("data", "float64", (None, int(count)) if count else None)

    def ports(self, call: Hashable) -> Sequence[Port]:
        del call
        return [self._port]

    def default_call(self, body: dict[str, Any]) -> Hashable:
        method = body.get("method") or self._default
        if method not in self._methods:
            raise Refused(400, f"The model has no method {method!r} (it has: {', '.join(self._methods)}).")
        return str(method)

    def read(self, body: dict[str, Any]) -> Asked:
        method = self.default_call(body)
        rows = body.get("data", body.get("instances", body.get("inputs")))
        if rows is None:
            raise Refused(400, 'The request needs "data": a list of rows, such as {"data": [[1, 2], [3, 4]]}.')
        table = self._table(rows, body.get("columns"))
        if "data" in body:
            return Asked({"data": table}, method, lambda outputs: {method: outputs["output"]})
        key = "predictions" if "instances" in body else "outputs"
        return Asked({"data": table}, method, lambda outputs: {key: outputs["output"]})

    def call(self, arrays: Arrays, call: Hashable) -> Arrays:
        output = getattr(self._model, str(call))(arrays["data"])
        if hasattr(output, "toarray"):  # sparse
            output = output.toarray()
        return {"output": output}

    def check(self, arrays: Arrays, call: Hashable) -> None:
        del call
        table, wanted = arrays["data"], self._port.shape
        if len(table.shape) != 2:
            raise Refused(
                400, f'"data" must be a list of rows, each a list of values; its shape is {list(table.shape)}.'
            )
        if wanted is not None and table.shape[1] != wanted[1]:
            raise Refused(400, f"The model takes rows of {wanted[1]} values, not of {table.shape[1]}.")

    def _table(self, rows: Any, columns: Any) -> Any:
        """A DataFrame where the columns have names, else an array."""
        if isinstance(rows, dict) and set(rows) >= {"columns", "data"}:  # as DataFrame.to_dict("split") writes it
            rows, columns = rows["data"], rows["columns"]
        if columns is None and not _named(rows) and not self._names:
            return _array(rows)
        if not isinstance(rows, (list, dict)):
            raise Refused(400, '"data" must be a list of rows.')
        import pandas

        try:
            named = columns if columns is not None or _named(rows) else self._names
            table = pandas.DataFrame(rows, columns=named if not _named(rows) else None)
            return table[self._names] if self._names else table
        except (ValueError, TypeError) as error:
            raise Refused(400, f'"data" does not make a table: {error}') from None
        except KeyError as error:
            raise Refused(400, f"The model wants the columns {', '.join(self._names)}: {error.args[0]}.") from None

    def joins(self, asked: Asked) -> bool:
        return not hasattr(asked.arrays["data"], "columns") and super().joins(asked)


def unpickled(path: str) -> Any:
    """With joblib where it is there: it reads its own files and plain pickles."""
    try:
        import joblib
    except ImportError:
        with open(path, "rb") as file:
            return pickle.load(file)  # noqa: S301 - only where the registry allows pickles
    return joblib.load(path)


def _named(rows: Any) -> bool:
    return isinstance(rows, dict) or (isinstance(rows, list) and bool(rows) and isinstance(rows[0], dict))


def _array(rows: Any) -> Any:
    import numpy

    try:
        return numpy.asarray(rows, dtype=float)
    except (ValueError, TypeError):
        pass
    try:
        return numpy.asarray(rows, dtype=object)
    except (ValueError, TypeError) as error:
        raise Refused(400, f'"data" does not make a table: {error}') from None
