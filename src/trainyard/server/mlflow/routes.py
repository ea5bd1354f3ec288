"""Where MLflow's clients knock: its REST paths, below one address for each workspace (contract/mlflow.py)."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route

from trainyard.server.mlflow import artifacts, experiments, inputs, models, registry, runs
from trainyard.server.mlflow import search as searching
from trainyard.server.mlflow.wire import Call, Handler, endpoint

_BASE = "/mlflow/{flavour:str}/workspaces/{workspace_id:str}"
_API = "/api/2.0"  # below it
_CLIENTS = "3.0.0"  # the API we speak is that of this version of MLflow


def log_inputs(call: Call) -> None:
    _note(call, {inputs.DATASET: call.items("datasets"), inputs.MODEL_IN: call.items("models")})


def log_outputs(call: Call) -> None:
    _note(call, {inputs.MODEL_OUT: call.items("models")})


def record_model(call: Call) -> None:
    """What clients before MLflow 3 say of a model they logged: kept as the tag they read it from."""
    runs.set_tag(
        Call(**{**vars(call), "said": {**call.said, "key": "mlflow.log-model.history", "value": _history(call)}})
    )


def _note(call: Call, kinds: dict[str, list[object]]) -> None:
    with call.context.db.write() as tx:
        scope = runs.scope_of(runs.writable(tx, call, runs.run_id(call)))
        for kind, items in kinds.items():
            inputs.add(tx, scope, kind, items)


def _history(call: Call) -> str:
    import json

    from trainyard.server.runs.records import run_row

    with call.context.db.read() as tx:
        known = run_row(tx, call.workspace_id, runs.run_id(call)).tags.get("mlflow.log-model.history")
    return json.dumps([*json.loads(known or "[]"), json.loads(call.text("model_json"))])


async def version(_request: Request) -> Response:
    return Response(_CLIENTS, media_type="text/plain")


async def server_info(_request: Request) -> Response:
    return JSONResponse({"store_type": "trainyard", "workspaces_enabled": False, "multipart_uploads_enabled": False})


async def no_such(request: Request) -> Response:
    """Traces, prompts and the rest of MLflow that is not about training."""
    said = f"Trainyard does not have MLflow's {request.method} {request.url.path.partition('/api/')[2]}."
    return JSONResponse({"error_code": "ENDPOINT_NOT_FOUND", "message": said}, 404)


_TABLE: list[tuple[str, str, Handler]] = [
    ("POST", "experiments/create", experiments.create),
    ("GET", "experiments/get", experiments.get),
    ("GET", "experiments/get-by-name", experiments.get_by_name),
    ("GET POST", "experiments/search", experiments.search),
    ("GET POST", "experiments/list", experiments.search),
    ("POST", "experiments/update", experiments.update),
    ("POST", "experiments/delete", experiments.delete),
    ("POST", "experiments/restore", experiments.restore),
    ("POST", "experiments/set-experiment-tag", experiments.set_tag),
    ("POST", "experiments/delete-experiment-tag", experiments.delete_tag),
    ("POST", "runs/create", runs.create),
    ("GET", "runs/get", runs.get),
    ("POST", "runs/update", runs.update),
    ("POST", "runs/delete", runs.delete),
    ("POST", "runs/restore", runs.restore),
    ("POST", "runs/search", searching.search),
    ("POST", "runs/log-metric", runs.log_metric),
    ("POST", "runs/log-parameter", runs.log_param),
    ("POST", "runs/set-tag", runs.set_tag),
    ("POST", "runs/delete-tag", runs.delete_tag),
    ("POST", "runs/log-batch", runs.log_batch),
    ("POST", "runs/log-model", record_model),
    ("POST", "runs/log-inputs", log_inputs),
    ("POST", "runs/outputs", log_outputs),
    ("GET", "metrics/get-history", runs.history),
    ("GET", "metrics/get-history-bulk-interval", runs.histories),
    ("GET", "artifacts/list", artifacts.of_run),
    ("POST", "registered-models/create", registry.create),
    ("POST", "registered-models/rename", registry.rename),
    ("PATCH", "registered-models/update", registry.change),
    ("DELETE", "registered-models/delete", registry.remove),
    ("GET", "registered-models/get", registry.get),
    ("GET", "registered-models/search", registry.search),
    ("GET POST", "registered-models/get-latest-versions", registry.latest),
    ("POST", "registered-models/set-tag", registry.set_tag),
    ("DELETE", "registered-models/delete-tag", registry.delete_tag),
    ("POST", "registered-models/alias", registry.set_alias),
    ("DELETE", "registered-models/alias", registry.remove_alias),
    ("GET", "registered-models/alias", registry.by_alias),
    ("POST", "model-versions/create", registry.create_version),
    ("PATCH", "model-versions/update", registry.change_version),
    ("POST", "model-versions/transition-stage", registry.to_stage),
    ("DELETE", "model-versions/delete", registry.remove_version),
    ("GET", "model-versions/get", registry.get_version),
    ("GET", "model-versions/search", registry.search_versions),
    ("GET", "model-versions/get-download-uri", registry.download_uri),
    ("POST", "model-versions/set-tag", registry.set_version_tag),
    ("DELETE", "model-versions/delete-tag", registry.delete_version_tag),
    ("POST", "logged-models", models.create),
    ("POST", "logged-models/search", models.search),
    ("GET", "logged-models/{model_id:str}", models.get),
    ("PATCH", "logged-models/{model_id:str}", models.finalize),
    ("DELETE", "logged-models/{model_id:str}", models.remove),
    ("PATCH", "logged-models/{model_id:str}/tags", models.set_tags),
    ("DELETE", "logged-models/{model_id:str}/tags/{tag_key:path}", models.delete_tag),
    ("POST", "logged-models/{model_id:str}/params", models.log_params),
    ("GET", "logged-models/{model_id:str}/artifacts/directories", artifacts.of_model),
]

_BELOW = [
    *(Route(f"{_API}/mlflow/{path}", endpoint(handler), methods=verbs.split()) for verbs, path, handler in _TABLE),
    Route(f"{_API}/mlflow-artifacts/artifacts", endpoint(artifacts.listing), methods=["GET"]),
    Route(f"{_API}/mlflow-artifacts/artifacts/{{path:path}}", artifacts.upload, methods=["PUT"]),
    Route(f"{_API}/mlflow-artifacts/artifacts/{{path:path}}", artifacts.download, methods=["GET"]),
    Route(f"{_API}/mlflow-artifacts/artifacts/{{path:path}}", endpoint(artifacts.remove), methods=["DELETE"]),
    Route("/version", version, methods=["GET"]),
    Route("/api/3.0/mlflow/server-info", server_info, methods=["GET"]),
    Route("/api/{rest:path}", no_such, methods=["GET", "POST", "PUT", "PATCH", "DELETE"]),
]
ROUTES = [Mount(_BASE, routes=_BELOW)]  # one look at an address tells whether it is one of these
