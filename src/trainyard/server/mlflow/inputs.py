"""What a run read and made, as MLflow says it: datasets, models in, models out; and the metrics of logged models."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from typing import Any

from sqlalchemy import Connection, delete, insert, select, update

from trainyard.contract.errors import InvalidQuery, InvalidRequest
from trainyard.server.mlflow.tables import logged_models, run_inputs
from trainyard.server.runs.conditions import Condition, Place, tested
from trainyard.server.runs.query import Compare
from trainyard.server.scope import Scope

_CONTEXT = "mlflow.data.context"
DATASET, MODEL_IN, MODEL_OUT = "dataset", "model_in", "model_out"


def add(tx: Connection, scope: Scope, kind: str, items: Iterable[Any]) -> None:
    """Each once, whoever says it again; the last word counts."""
    rows = {}
    for item in items:
        if not isinstance(item, dict):
            raise InvalidRequest("Inputs and outputs are JSON objects.")
        rows[_name(kind, item)] = item
    if not rows:
        return
    here = (run_inputs.c.run_key == scope.run_key) & (run_inputs.c.kind == kind)
    tx.execute(delete(run_inputs).where(here & run_inputs.c.name.in_(list(rows))))
    common = {"run_key": scope.run_key, **scope.owner(), "kind": kind}
    tx.execute(insert(run_inputs), [{**common, "name": name, "body": body} for name, body in rows.items()])


def of_runs(tx: Connection, run_keys: list[int]) -> dict[int, dict[str, Any]]:
    """`inputs` and `outputs` of each run, in MLflow's form."""
    found: dict[int, dict[str, list[Any]]] = {key: {DATASET: [], MODEL_IN: [], MODEL_OUT: []} for key in run_keys}
    chosen = select(run_inputs).where(run_inputs.c.run_key.in_(run_keys)).order_by(run_inputs.c.name)
    for row in tx.execute(chosen):
        found[row.run_key][row.kind].append(row.body)
    return {
        key: {
            "inputs": {"dataset_inputs": kinds[DATASET], "model_inputs": kinds[MODEL_IN]},
            "outputs": {"model_outputs": kinds[MODEL_OUT]},
        }
        for key, kinds in found.items()
    }


def of_dataset(compare: Compare, place: Place) -> Condition:
    """`dataset.name = 'mnist'`: of runs that read such a dataset. Its context is a tag of the input."""
    name, operator, body = compare.field.name, compare.operator, run_inputs.c.body
    if name not in ("name", "digest", "context") or operator not in ("=", "!=", "in", "like", "ilike"):
        what = "of a dataset there is name, digest and context, to be compared with = != in like ilike"
        raise InvalidQuery(place.text, compare.at, what)
    here = (run_inputs.c.workspace_id == place.workspace_id) & (run_inputs.c.kind == DATASET)
    if name == "context":
        value = body["tags"][0]["value"].as_string()
        here &= body["tags"][0]["key"].as_string() == _CONTEXT
    else:
        value = body["dataset"][name].as_string()
    keys = select(run_inputs.c.run_key).where(
        here, tested(value, compare, place, [str(each) for each in compare.values])
    )
    return Condition(lambda key: key.in_(keys), keys)


def forget(tx: Connection, run_keys: Iterable[int]) -> None:
    """Of runs that are deleted."""
    tx.execute(delete(run_inputs).where(run_inputs.c.run_key.in_(list(run_keys))))


def model_metrics(tx: Connection, workspace_id: str, run_id: str, metrics: list[Any], now_ns: int) -> None:
    """Metrics that belong to a logged model too: its latest of each name and dataset."""
    by_model: dict[str, list[dict[str, Any]]] = {}
    for each in metrics:
        if each.get("model_id"):
            by_model.setdefault(str(each["model_id"]), []).append({**each, "run_id": run_id})
    for model_id, points in by_model.items():
        here = (logged_models.c.workspace_id == workspace_id) & (logged_models.c.model_id == model_id)
        row = tx.execute(select(logged_models.c.metrics).where(here)).first()
        if row is None:
            continue  # a model that is gone has no use for them; the run keeps them
        latest = {_series(point): point for point in [*row.metrics, *points]}
        tx.execute(update(logged_models).where(here).values(metrics=list(latest.values()), updated_ns=now_ns))


def _series(point: dict[str, Any]) -> str:
    names = ("key", "dataset_name", "dataset_digest", "run_id")
    return json.dumps([point.get(name) for name in names])


def _name(kind: str, item: dict[str, Any]) -> str:
    if kind != DATASET:
        return str(item.get("model_id", ""))
    dataset = item.get("dataset") or {}
    said = json.dumps([dataset.get("name"), dataset.get("digest"), item.get("tags")], sort_keys=True)
    return hashlib.sha256(said.encode()).hexdigest()[:32]
