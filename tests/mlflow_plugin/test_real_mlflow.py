"""The real mlflow client and its autologging write into our runs."""

from __future__ import annotations

import http.server
import threading


def test_a_notebook_s_run(told) -> None:
    found = told("""
mlflow.set_experiment("notes")
with mlflow.start_run(run_name="one", tags={"team": "vision"}) as run:
    mlflow.log_params({"lr": 0.1, "depth": 3})
    for step in range(5):
        mlflow.log_metric("loss", 1 / (step + 1), step=step)
    mlflow.log_text("words", "notes/words.txt")
    mlflow.log_dict({"a": 1}, "a.json")
    with mlflow.start_run(nested=True):
        mlflow.log_metric("k", 1)
client = mlflow.MlflowClient()
seen = client.get_run(run.info.run_id)
ours = Run.get(ws, run.info.run_id)
print(json.dumps({
    "status": seen.info.status,
    "metrics": seen.data.metrics,
    "params": seen.data.params,
    "steps": [m.step for m in client.get_metric_history(run.info.run_id, "loss")],
    "files": sorted(f.path for f in client.list_artifacts(run.info.run_id)),
    "text": mlflow.artifacts.load_text(f"runs:/{run.info.run_id}/notes/words.txt"),
    "found": list(mlflow.search_runs(filter_string="params.lr = '0.1' and metrics.loss < 0.3").run_id) == [ours.id],
    "ours": [ours.get_metrics(), ours.get_file_names(), ours.display_name, ours.get_status(), ours.tags["team"]],
    "children": len(list(ours.get_children())),
    "searched": [r.id for r in ws.search_runs("params.depth >= 3")] == [run.info.run_id],
    "uri": mlflow.get_tracking_uri(),
}))""")
    assert found["status"] == "FINISHED"
    assert found["metrics"] == {"loss": 0.2}
    assert found["params"] == {"lr": "0.1", "depth": "3"}
    assert found["steps"] == [0, 1, 2, 3, 4]
    assert found["files"] == ["a.json", "notes"]
    assert found["text"] == "words"
    assert found["found"]
    assert found["searched"]
    losses = {"loss": [1.0, 0.5, 1 / 3, 0.25, 0.2]}
    assert found["ours"] == [losses, ["a.json", "notes/words.txt"], "one", "Completed", "vision"]
    assert found["children"] == 1
    assert "@" not in found["uri"]
    assert found["uri"].startswith("azureml://127.0.0.1:")


def test_autologging_and_its_model(told) -> None:
    found = told("""
import warnings
warnings.filterwarnings("ignore")
import numpy as np
from sklearn.linear_model import Ridge
mlflow.set_experiment("auto")
mlflow.autolog()
x = np.arange(20.0).reshape(10, 2)
with mlflow.start_run() as run:
    Ridge(alpha=0.25).fit(x, x[:, 0])
ours = Run.get(ws, run.info.run_id)
again = mlflow.pyfunc.load_model(f"runs:/{run.info.run_id}/model")
print(json.dumps({
    "params": next(iter(ws.search_runs("params.alpha = 0.25"))).id == run.info.run_id,
    "metrics": sorted(ours.get_metrics()),
    "files": ours.get_file_names(),
    "models": [m.name for m in mlflow.search_logged_models(output_format="list")],
    "inputs": len(mlflow.get_run(run.info.run_id).inputs.dataset_inputs),
    "predicted": float(again.predict(x)[1]),
}))""")
    assert found["params"]
    assert "training_mean_squared_error" in found["metrics"]
    assert {"model/MLmodel", "estimator.html"} <= set(found["files"])
    assert found["models"] == ["model"]
    assert found["inputs"] == 1
    assert abs(found["predicted"] - 2.0) < 0.1


def test_in_a_job_it_attaches_to_the_run(told) -> None:
    found = told("""
os.makedirs("job")
open("job/train.py", "w").write('''
import sys
import mlflow
with mlflow.start_run() as run:
    mlflow.log_param("lr", float(sys.argv[2]))
    mlflow.log_metric("loss", 0.5)
    mlflow.log_text("hello", "said.txt")
with mlflow.start_run():
    mlflow.log_metric("more", 1)
print("attached to", run.info.run_id)
from azureml.core import Run
Run.get_context().log("ours", 7)
''')
mine = Environment("mine")
mine.python.user_managed_dependencies = True
run = Experiment(ws, "jobs").submit(ScriptRunConfig("job", "train.py", arguments=["--lr", "0.1"], environment=mine))
run.wait_for_completion()
print(json.dumps({
    "status": run.get_status(),
    "metrics": run.get_metrics(),
    "files": [name for name in run.get_file_names() if not name.startswith(("azureml-logs", "logs"))],
    "params": mlflow.get_run(run.id).data.params,
    "children": [child.get_metrics() for child in run.get_children()],
    "attached": f"attached to {run.id}" in run.get_details_with_logs()["logFiles"]["azureml-logs/70_driver_log.txt"],
}))""")
    assert found == {
        "status": "Completed",
        "metrics": {"loss": 0.5, "ours": 7},
        "files": ["said.txt"],
        "params": {"lr": "0.1"},
        "children": [{"more": 1.0}],
        "attached": True,
    }


def test_a_project_runs_here(told) -> None:
    found = told("""
import warnings
warnings.filterwarnings("ignore")
import mlflow.azureml
os.makedirs("project")
open("project/MLproject", "w").write('''
name: example
conda_env: conda.yaml
entry_points:
  main:
    parameters:
      alpha: float
      depth: {type: float, default: 2}
    command: "python train.py {alpha} {depth}"
''')
open("project/conda.yaml", "w").write("dependencies: [python]")
open("project/train.py", "w").write("import sys, mlflow; mlflow.log_metric('alpha', float(sys.argv[1]))")
mlflow.set_experiment("projects")
given = {"parameters": {"alpha": 0.3}, "backend": "azureml", "backend_config": {"USE_CONDA": False}}
done = mlflow.projects.run("project", use_conda=False, **given)
seen = mlflow.get_run(done.run_id)
try:
    open("project/train.py", "w").write("raise SystemExit(3)")
    mlflow.projects.run("project", **given)
    failed = ""
except mlflow.exceptions.ExecutionException as error:
    failed = str(error)
tag = seen.data.tags["mlflow.project.backend"]
print(json.dumps([done.get_status(), seen.data.metrics, seen.data.params, tag, failed]))
""")
    assert found[:4] == [3, {"alpha": 0.3}, {"alpha": "0.3", "depth": "2"}, "azureml"]
    assert "exit code 3" in found[4]


class _Elsewhere(http.server.BaseHTTPRequestHandler):
    """Another tracker, which remembers how it was asked."""

    asked: list[str | None] = []  # noqa: RUF012

    def do_GET(self) -> None:
        self.asked.append(self.headers.get("Authorization"))
        self.send_response(404)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


def test_plain_addresses_take_the_token_by_name_and_no_other_server_sees_it(told) -> None:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Elsewhere)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    program = """
from trainyard.contract.mlflow import plain_uri
mlflow.set_tracking_uri(plain_uri(ws._connection.http.url, ws._workspace_id_internal))
with mlflow.start_run() as run:
    mlflow.log_metric("x", 1)
    mlflow.log_text("words", "a.txt")
try:
    mlflow.MlflowClient(os.environ["ELSEWHERE"]).get_run("a")
except mlflow.exceptions.MlflowException:
    pass
text = mlflow.artifacts.load_text(run.info.artifact_uri + "/a.txt")
print(json.dumps([mlflow.get_run(run.info.run_id).data.metrics, text]))
"""
    try:
        where = f"http://127.0.0.1:{server.server_address[1]}"
        assert told(program, MLFLOW_TRACKING_AUTH="trainyard", ELSEWHERE=where) == [{"x": 1.0}, "words"]
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
    assert _Elsewhere.asked == [None]


def test_an_address_of_azure_s_own_is_told_apart(told) -> None:
    found = told("""
mlflow.set_tracking_uri("azureml://westeurope.api.azureml.ms/mlflow/v1.0/subscriptions/s/workspaces/w")
try:
    mlflow.search_experiments()
except mlflow.exceptions.MlflowException as error:
    print(json.dumps(str(error)))
""")
    assert "is no address of a Trainyard service" in found


def test_the_service_is_started_again_when_it_is_needed(told) -> None:
    found = told("""
from trainyard.sdk.service import Yard
mlflow.set_experiment("again")
with mlflow.start_run() as run:
    mlflow.log_metric("x", 1)
    Yard.from_env(os.environ).stop()
    mlflow.log_metric("x", 2)
print(json.dumps([m.value for m in mlflow.MlflowClient().get_metric_history(run.info.run_id, "x")]))
""")
    assert found == [1.0, 2.0]


def test_models_are_registered_in_our_registry(told) -> None:
    found = told("""
import warnings
warnings.filterwarnings("ignore")
import numpy as np
from sklearn.linear_model import Ridge
from azureml.core.model import Model
mlflow.set_experiment("models")
x = np.arange(20.0).reshape(10, 2)
with mlflow.start_run() as run:
    mlflow.sklearn.log_model(Ridge().fit(x, x[:, 0]), name="model")
first = mlflow.register_model(f"runs:/{run.info.run_id}/model", "ridge", tags={"a": "b"})
second = mlflow.register_model(f"runs:/{run.info.run_id}/model", "ridge")
client = mlflow.MlflowClient()
client.set_registered_model_alias("ridge", "best", 1)
client.update_registered_model("ridge", "about")
client.set_model_version_tag("ridge", "2", "stage", "new")
ours = Model(ws, "ridge", version=1)
at = ours.download("down")
print(json.dumps({
    "versions": [first.version, second.version],
    "loaded": float(mlflow.pyfunc.load_model("models:/ridge/2").predict(x)[1]),
    "best": client.get_model_version_by_alias("ridge", "best").version,
    "by_alias": float(mlflow.sklearn.load_model("models:/ridge@best").predict(x)[1]),
    "ours": [ours.name, ours.version, ours.tags, ours.run_id == run.info.run_id],
    "down": sorted(os.listdir(at))[:1],
    "names": [m.name for m in client.search_registered_models("name LIKE 'rid%'")],
    "about": client.get_registered_model("ridge").description,
    "found": [v.version for v in client.search_model_versions("name='ridge' and tags.stage = 'new'")],
    "of_run": len(client.search_model_versions(f"run_id='{run.info.run_id}'")),
    "gone": [client.delete_model_version("ridge", "1"), client.search_model_versions("name='ridge'")[0].version],
}))""")
    assert found["versions"] == ["1", "2"]
    assert abs(found["loaded"] - 2.0) < 0.2
    assert found["best"] == "1"
    assert found["by_alias"] == found["loaded"]
    assert found["ours"] == ["ridge", 1, {"a": "b"}, True]
    assert found["down"] == ["MLmodel"]
    assert found["names"] == ["ridge"]
    assert found["about"] == "about"
    assert found["found"] == ["2"]
    assert found["of_run"] == 2
    assert found["gone"] == [None, "2"]
