"""MLflow's REST API, word by word, over the application's own routes."""

from __future__ import annotations

import pytest

from trainyard.server.context import Context
from trainyard.server.mlflow import registry


@pytest.fixture
def workspace(call) -> str:
    return call("POST", "/api/v1/workspaces", {"name": "yard"}).json["id"]


@pytest.fixture
def ask(call, workspace: str):
    """ask(verb, path below mlflow/, json) → the answer's JSON, which must be good."""

    def asked(verb: str, path: str, value: object = None, status: int = 200, flavour: str = "v1.0", **more: object):
        answer = call(verb, f"/mlflow/{flavour}/workspaces/{workspace}/api/2.0/mlflow/{path}", value, **more)
        assert answer.status == status, answer.body
        return answer.json

    return asked


@pytest.fixture
def run(ask) -> str:
    experiment = ask("POST", "experiments/create", {"name": "first"})["experiment_id"]
    return ask("POST", "runs/create", {"experiment_id": experiment, "run_name": "one", "start_time": 5})["run"]["info"][
        "run_id"
    ]


def data(ask, run: str) -> dict:
    found = ask("GET", f"runs/get?run_id={run}")["run"]["data"]
    return {
        "metrics": {each["key"]: each["value"] for each in found["metrics"]},
        "params": {each["key"]: each["value"] for each in found["params"]},
        "tags": {each["key"]: each["value"] for each in found["tags"]},
    }


def test_a_run_from_its_start_to_its_end(ask, run: str) -> None:
    info = ask("GET", f"runs/get?run_id={run}")["run"]["info"]
    assert (info["run_name"], info["status"], info["user_id"], info["lifecycle_stage"]) == (
        "one",
        "RUNNING",
        "ada",
        "active",
    )
    assert info["artifact_uri"] == f"mlflow-artifacts:/runs/{run}"
    batch = {
        "run_id": run,
        "metrics": [
            {"key": "loss", "value": 0.5, "timestamp": 1000, "step": 1},
            {"key": "loss", "value": 0.25, "timestamp": 2000, "step": 2},
            {"key": "acc", "value": "NaN", "timestamp": 1000},
        ],
        "params": [{"key": "lr", "value": "0.1"}],
        "tags": [{"key": "team", "value": "vision"}, {"key": "mlflow.note.content", "value": "a note"}],
    }
    ask("POST", "runs/log-batch", batch)
    ask("POST", "runs/log-metric", {"run_id": run, "key": "top", "value": "Infinity", "timestamp": 1})
    found = data(ask, run)
    assert found["metrics"] == {"loss": 0.25, "acc": "NaN", "top": "Infinity"}
    assert found["params"] == {"lr": "0.1"}
    assert found["tags"] == {
        "mlflow.user": "ada",
        "team": "vision",
        "mlflow.runName": "one",
        "mlflow.note.content": "a note",
    }
    history = ask("GET", f"metrics/get-history?run_id={run}&metric_key=loss&max_results=1")
    assert history["metrics"] == [{"key": "loss", "value": 0.5, "timestamp": 1000, "step": 1}]
    rest = ask("GET", f"metrics/get-history?run_id={run}&metric_key=loss&page_token={history['next_page_token']}")
    assert rest == {"metrics": [{"key": "loss", "value": 0.25, "timestamp": 2000, "step": 2}]}
    ended = ask("POST", "runs/update", {"run_id": run, "status": "FINISHED", "run_name": "two"})["run_info"]
    assert (ended["status"], ended["run_name"]) == ("FINISHED", "two")
    again = ask("POST", "runs/update", {"run_id": run, "status": "RUNNING"})["run_info"]
    assert again["status"] == "FINISHED"  # a terminal state never changes


def test_a_batch_that_is_sent_twice_counts_once(ask, run: str) -> None:
    points = [{"key": "loss", "value": float(at % 3), "timestamp": at, "step": at} for at in range(5000)]
    for _ in range(2):
        ask("POST", "runs/log-batch", {"run_id": run, "metrics": points})
    ask("POST", "runs/log-batch", {"run_id": run, "metrics": points[-3:]})
    assert len(ask("GET", f"metrics/get-history?run_id={run}&metric_key=loss")["metrics"]) == 5000


def test_a_batch_is_taken_whole_or_not_at_all(ask, run: str) -> None:
    ask("POST", "runs/log-parameter", {"run_id": run, "key": "lr", "value": "0.1"})
    batch = {
        "run_id": run,
        "metrics": [{"key": "loss", "value": 1.0, "timestamp": 1}],
        "params": [{"key": "lr", "value": "0.2"}],
    }
    refused = ask("POST", "runs/log-batch", batch, 400)
    assert refused["error_code"] == "INVALID_PARAMETER_VALUE"
    assert "was logged as '0.1' and does not change" in refused["message"]
    assert data(ask, run)["metrics"] == {}
    ask("POST", "runs/log-parameter", {"run_id": run, "key": "lr", "value": "0.1"})  # the same again is no news


def test_what_a_script_says_has_the_last_word_over_its_arguments(ask, call, workspace: str) -> None:
    spec = {"script": "train.py", "arguments": ["--lr", "1e-1", "--epochs", "3"]}
    new = {"experiment": "first", "run_id": "r1", "spec": spec}
    assert call("POST", f"/api/v1/workspaces/{workspace}/runs", new).status == 200
    ask("POST", "runs/log-parameter", {"run_id": "r1", "key": "lr", "value": "0.1"})
    assert data(ask, "r1")["params"] == {"epochs": "3", "lr": "0.1"}
    # it ends when its agent says so
    assert ask("POST", "runs/update", {"run_id": "r1", "status": "FINISHED"})["run_info"]["status"] == "SCHEDULED"


def test_experiments(ask) -> None:
    made = ask("POST", "experiments/create", {"name": "first", "tags": [{"key": "team", "value": "a"}]})[
        "experiment_id"
    ]
    again = ask("POST", "experiments/create", {"name": "first"}, 400)
    assert again["error_code"] == "RESOURCE_ALREADY_EXISTS"
    found = ask("GET", "experiments/get-by-name?experiment_name=first")["experiment"]
    assert (found["experiment_id"], found["tags"]) == (made, [{"key": "team", "value": "a"}])
    missing = ask("GET", "experiments/get-by-name?experiment_name=none", status=404)
    assert missing["error_code"] == "RESOURCE_DOES_NOT_EXIST"
    assert ask("GET", "experiments/get?experiment_id=0")["experiment"]["name"] == "Default"
    ask("POST", "experiments/delete", {"experiment_id": made})
    assert ask("GET", f"experiments/get?experiment_id={made}")["experiment"]["lifecycle_stage"] == "deleted"
    assert names(ask("POST", "experiments/search", {})) == ["Default"]
    assert names(ask("POST", "experiments/search", {"view_type": "DELETED_ONLY"})) == ["first"]
    ask("POST", "experiments/restore", {"experiment_id": made})
    ask("POST", "experiments/update", {"experiment_id": made, "new_name": "second"})
    asked = {"filter": "name LIKE 'sec%' AND tags.team = 'a'", "order_by": ["name ASC"]}
    assert names(ask("POST", "experiments/search", asked)) == ["second"]
    refused = ask("POST", "experiments/create", {"name": "third", "artifact_location": "s3://x"}, 400)
    assert "Leave it out" in refused["message"]


def names(found: dict) -> list[str]:
    return [each["name"] for each in found["experiments"]]


def test_search_in_mlflow_s_words(ask, run: str) -> None:
    info = ask("GET", f"runs/get?run_id={run}")["run"]["info"]
    experiment = info["experiment_id"]
    tags = [{"key": "mlflow.parentRunId", "value": run}]
    child = ask("POST", "runs/create", {"experiment_id": experiment, "tags": tags})["run"]["info"]["run_id"]
    ask("POST", "runs/log-metric", {"run_id": child, "key": "val loss", "value": 0.5, "timestamp": 1})
    ask("POST", "runs/update", {"run_id": run, "status": "FAILED"})

    def found(text: str, **more: object) -> list[str]:
        asked = {"experiment_ids": [experiment], "filter": text, **more}
        return [each["info"]["run_id"] for each in ask("POST", "runs/search", asked)["runs"]]

    assert found("") == [child, run]
    assert found("attributes.status = 'RUNNING'") == [child]
    assert found("status != 'RUNNING'") == [run]
    assert found("tags.mlflow.parentRunId = '" + run + "'") == [child]
    assert found("tags.`mlflow.runName` = 'one'") == [run]
    assert found("metrics.`val loss` <= 0.5") == [child]
    assert found(f"attributes.start_time >= {info['start_time'] - 1000}", order_by=["start_time ASC"]) == [run, child]
    assert found("attributes.run_id IN ('" + run + "')") == [run]
    assert found("", experiment_ids=[]) == []
    ask("POST", "runs/delete", {"run_id": run})
    assert found("") == [child]
    assert found("", run_view_type="DELETED_ONLY") == [run]
    ask("POST", "runs/restore", {"run_id": run})
    assert found("", max_results=1) == [child]
    page = ask("POST", "runs/search", {"experiment_ids": [experiment], "max_results": 1})
    rest = {"experiment_ids": [experiment], "max_results": 1, "page_token": page["next_page_token"]}
    assert [each["info"]["run_id"] for each in ask("POST", "runs/search", rest)["runs"]] == [run]


def test_files_go_in_and_come_out(call, workspace: str, ask, run: str) -> None:
    proxy = f"/mlflow/v1.0/workspaces/{workspace}/api/2.0/mlflow-artifacts/artifacts"
    body = b"bytes of a file" * 200_000
    assert call("PUT", f"{proxy}/runs/{run}/model/data.bin", body=body).status == 200
    assert call("PUT", f"{proxy}/runs/{run}/empty.txt").status == 200
    assert call("GET", f"{proxy}/runs/{run}/model/data.bin").body == body
    assert call("GET", f"{proxy}?path=runs/{run}").json["files"] == [
        {"path": "empty.txt", "is_dir": False, "file_size": 0},
        {"path": "model", "is_dir": True},
    ]
    assert ask("GET", f"artifacts/list?run_id={run}&path=model")["files"] == [
        {"path": "model/data.bin", "is_dir": False, "file_size": 3_000_000}
    ]
    files = call("GET", f"/api/v1/workspaces/{workspace}/runs/{run}/files").json
    assert [file["name"] for file in files] == ["empty.txt", "model/data.bin"]
    assert call("DELETE", f"{proxy}/runs/{run}/model").status == 200
    missing = call("GET", f"{proxy}/runs/{run}/model/data.bin")
    assert (missing.status, missing.json["error_code"]) == (404, "RESOURCE_DOES_NOT_EXIST")


@pytest.mark.parametrize("path", ["runs/{run}/../../secret", "runs/{run}", "elsewhere/x/y", "runs/nobody/file"])
def test_no_file_lands_outside_a_run(call, workspace: str, run: str, path: str) -> None:
    proxy = f"/mlflow/v1.0/workspaces/{workspace}/api/2.0/mlflow-artifacts/artifacts"
    assert call("PUT", f"{proxy}/{path.format(run=run)}", body=b"x").status in (400, 404)


def test_logged_models(ask, run: str) -> None:
    experiment = ask("GET", f"runs/get?run_id={run}")["run"]["info"]["experiment_id"]
    new = {"experiment_id": experiment, "name": "model", "source_run_id": run, "params": [{"key": "d", "value": "3"}]}
    made = ask("POST", "logged-models", new)["model"]["info"]
    assert (made["artifact_uri"], made["status"]) == (f"mlflow-artifacts:/runs/{run}/model", "LOGGED_MODEL_PENDING")
    second = ask("POST", "logged-models", new)["model"]["info"]
    assert second["artifact_uri"] == f"mlflow-artifacts:/runs/{run}/models/{second['model_id']}"
    alone = ask("POST", "logged-models", {"experiment_id": experiment, "name": "alone"})["model"]["info"]
    assert alone["artifact_uri"] == f"mlflow-artifacts:/models/{alone['model_id']}"
    path = f"logged-models/{made['model_id']}"
    assert ask("PATCH", path, {"status": "LOGGED_MODEL_READY"})["model"]["info"]["status"] == "LOGGED_MODEL_READY"
    ask("PATCH", f"{path}/tags", {"tags": [{"key": "a", "value": "b"}]})
    point = {"key": "acc", "value": 0.9, "timestamp": 1, "model_id": made["model_id"]}
    ask("POST", "runs/log-batch", {"run_id": run, "metrics": [point]})

    def found(text: str, **more: object) -> list[str]:
        asked = {"experiment_ids": [experiment], "filter": text, **more}
        return [each["info"]["name"] for each in ask("POST", "logged-models/search", asked)["models"]]

    assert found("", order_by=[{"field_name": "creation_time", "ascending": True}]) == ["model", "model", "alone"]
    assert found("name = 'alone'") == ["alone"]
    assert found("metrics.acc > 0.8 AND params.d = '3' AND tags.a = 'b'") == ["model"]
    ask("DELETE", path)
    assert ask("GET", path, status=404)["error_code"] == "RESOURCE_DOES_NOT_EXIST"


def test_what_a_run_read_and_made(ask, run: str) -> None:
    dataset = {"dataset": {"name": "mnist", "digest": "d1", "source_type": "x", "source": "y"}, "tags": []}
    for _ in range(2):
        ask("POST", "runs/log-inputs", {"run_id": run, "datasets": [dataset]})
    ask("POST", "runs/outputs", {"run_id": run, "models": [{"model_id": "m-1", "step": 0}]})
    found = ask("GET", f"runs/get?run_id={run}")["run"]
    assert found["inputs"]["dataset_inputs"] == [dataset]
    assert found["outputs"]["model_outputs"] == [{"model_id": "m-1", "step": 0}]


def test_runs_are_found_by_the_datasets_they_read(ask, run: str) -> None:
    experiment = ask("GET", f"runs/get?run_id={run}")["run"]["info"]["experiment_id"]
    other = ask("POST", "runs/create", {"experiment_id": experiment})["run"]["info"]["run_id"]
    for reader, name, context in ((run, "mnist", "training"), (run, "cifar", "eval"), (other, "cifar", "training")):
        tags = [{"key": "mlflow.data.context", "value": context}]
        dataset = {"name": name, "digest": f"d-{name}", "source_type": "x", "source": "y"}
        ask("POST", "runs/log-inputs", {"run_id": reader, "datasets": [{"dataset": dataset, "tags": tags}]})

    def found(text: str, status: int = 200) -> list[str]:
        asked = {"experiment_ids": [experiment], "filter": text}
        answer = ask("POST", "runs/search", asked, status=status)
        return [each["info"]["run_id"] for each in answer["runs"]] if status == 200 else answer["message"]

    assert found("dataset.name = 'mnist'") == [run]
    assert found("datasets.digest LIKE 'd-c%'") == [other, run]
    assert found("dataset.context = 'eval' and dataset.name IN ('cifar')") == [run]
    assert found("not dataset.name = 'mnist'") == [other]
    assert "of a dataset there is name, digest and context" in found("dataset.size = '1'", 400)
    asked = {"experiment_ids": [experiment], "order_by": ["dataset.name"]}
    assert "not ordered by" in ask("POST", "runs/search", asked, status=400)["message"]


def test_a_model_has_all_its_versions_however_many_there_are(call, ask, workspace, run: str, monkeypatch) -> None:
    monkeypatch.setattr(registry, "_MOST", 2)  # of one question to the registry
    proxy = f"/mlflow/v1.0/workspaces/{workspace}/api/2.0/mlflow-artifacts/artifacts"
    assert call("PUT", f"{proxy}/runs/{run}/model/weights", body=b"w").status == 200
    for name in ("old", "new"):
        ask("POST", "registered-models/create", {"name": name})
    for name in ("old", "new", "new", "new", "old"):
        ask("POST", "model-versions/create", {"name": name, "source": f"runs:/{run}/model"})
    found = ask("GET", "model-versions/search?filter=name%3D'old'")["model_versions"]
    assert [each["version"] for each in found] == ["2", "1"]
    assert [each["name"] for each in ask("GET", "registered-models/search")["registered_models"]] == ["new", "old"]
    logged = {"experiment_id": "0", "name": "net"}
    logged_id = ask("POST", "logged-models", logged)["model"]["info"]["model_id"]
    assert call("PUT", f"{proxy}/models/{logged_id}/weights", body=b"w").status == 200
    made = ask("POST", "model-versions/create", {"name": "new", "source": f"models:/{logged_id}"})["model_version"]
    assert (made["version"], made["model_id"]) == ("4", logged_id)
    ask("DELETE", "registered-models/delete", {"name": "new"})
    assert ask("GET", "model-versions/search?filter=name%3D'new'")["model_versions"] == []


def test_a_prompt_is_refused_before_anything_is_kept_of_it(ask) -> None:
    asked = {"name": "p", "tags": [{"key": "mlflow.prompt.is_prompt", "value": "true"}]}
    assert "no prompts" in ask("POST", "registered-models/create", asked, status=400)["message"]
    ask("POST", "registered-models/create", {"name": "p"})


def test_the_plug_in_s_addresses_are_its_own(ask, run: str, workspace: str) -> None:
    info = ask("GET", f"runs/get?run_id={run}", flavour="v2.0")["run"]["info"]
    assert info["artifact_uri"] == f"azureml://127.0.0.1:80/mlflow/v2.0/workspaces/{workspace}/artifacts/runs/{run}"


def test_without_a_token_nothing_is_answered(ask, run: str) -> None:
    ask("GET", f"runs/get?run_id={run}", status=401, token=None)
    ask("GET", f"runs/get?run_id={run}", status=401, token="guessed")


def test_a_job_writes_its_own_run_and_its_children_s(ask, call, workspace: str, context: Context, run: str) -> None:
    path = f"/api/v1/workspaces/{workspace}/runs"
    call("POST", path, {"experiment": "first", "run_id": "job", "spec": {"script": "t.py"}})
    with context.db.write() as tx:
        from trainyard.server.runs.records import run_row

        key = run_row(tx, workspace, "job").key
        context.authenticator.grant_attempt(tx, "att-1", "job", key, workspace, "ada", 1)
    token = context.authenticator.attempt_token("att-1")
    ask("POST", "runs/log-metric", {"run_id": "job", "key": "loss", "value": 1, "timestamp": 1}, token=token)
    refused = ask("POST", "runs/log-metric", {"run_id": run, "key": "loss", "value": 1}, 403, token=token)
    assert refused["error_code"] == "PERMISSION_DENIED"
    made = ask("POST", "runs/create", {"experiment_id": "0"}, token=token)["run"]
    tags = {each["key"]: each["value"] for each in made["data"]["tags"]}
    assert tags["mlflow.parentRunId"] == "job"
    ask("POST", "runs/log-metric", {"run_id": made["info"]["run_id"], "key": "x", "value": 1}, token=token)
    theirs = ask("POST", "logged-models", {"name": "net"})["model"]["info"]["model_id"]
    own = ask("POST", "logged-models", {"name": "net"}, token=token)["model"]["info"]["model_id"]
    files = f"/mlflow/v1.0/workspaces/{workspace}/api/2.0/mlflow-artifacts/artifacts/models"
    for model_id, status in ((theirs, 403), (own, 200)):
        ask("PATCH", f"logged-models/{model_id}/tags", {"tags": []}, status, token=token)
        assert call("PUT", f"{files}/{model_id}/MLmodel", body=b"x", token=token).status == status
        assert call("DELETE", f"{files}/{model_id}/MLmodel", token=token).status == status
        ask("DELETE", f"logged-models/{model_id}", None, status, token=token)


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        ("runs/log-metric", {"key": "a", "value": "much"}, "A metric is"),
        ("runs/log-metric", {"key": "a", "value": 1, "timestamp": "now"}, "A timestamp is"),
        ("runs/log-metric", {"key": "a", "value": 1, "step": 10**30}, "is out of range"),
        ("runs/log-metric", {"value": 1}, "required parameter 'key'"),
        ("runs/log-batch", {"metrics": ["x"]}, "A metric is"),
        ("runs/log-batch", {"params": [{"key": "a" * 300, "value": "1"}]}, "1 to 250 characters"),
        ("runs/log-batch", {"params": [{"key": "a", "value": "1" * 20_000}]}, "Upload it as a"),
        ("runs/update", {"status": "DONE"}, "is no status of MLflow's"),
        ("runs/set-tag", {}, "required parameter 'key'"),
        ("runs/set-tag", ["a"], "takes a JSON object"),
    ],
)
def test_mistakes_are_told(ask, run: str, path: str, value: object, said: str) -> None:
    if isinstance(value, dict):
        value = {"run_id": run, **value}
    assert said in ask("POST", path, value, 400)["message"]


def test_a_page_that_was_never_given_is_refused(ask, run: str) -> None:
    for path in ("experiments/search?", "registered-models/search?", f"metrics/get-history?metric_key=a&run_id={run}&"):
        assert "This is no page_token" in ask("GET", f"{path}page_token=next", None, 400)["message"]
    asked = f"metrics/get-history-bulk-interval?metric_key=a&run_ids={run}&start_step=first"
    assert "start_step is a whole number" in ask("GET", asked, None, 400)["message"]


def test_what_is_not_there_says_so(ask) -> None:
    answer = ask("POST", "traces", {}, 404)
    assert answer["error_code"] == "ENDPOINT_NOT_FOUND"
