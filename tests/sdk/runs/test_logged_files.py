"""What is logged as a file, from the call to what get_metrics() answers, against the real service."""

import json

import numpy as np
import pytest

from trainyard.sdk.environments.environment import Environment
from trainyard.sdk.errors import AzureMLException, UserErrorException
from trainyard.sdk.experiment import Experiment
from trainyard.sdk.submitting.script_run_config import ScriptRunConfig
from trainyard.sdk.workspace import Workspace

PNG = b"\x89PNG\r\n\x1a\n" + b"pixels"
MATRIX = {
    "schema_type": "confusion_matrix",
    "schema_version": "v1",
    "data": {"class_labels": ["cat", "dog"], "matrix": [[3, 1], [0, 4]]},
}

JOB = """\
import os, time
from azureml.core import Run
run = Run.get_context()
class Plot:
    def savefig(self, file, format):
        file.write(b"\\x89PNG\\r\\n\\x1a\\ndrawn")
run.log_image("curve", plot=Plot(), description="how it went")
run.log("loss", 0.5, "smaller is better", step=3)
os.kill(os.getpid(), 9)
"""


class Plot:
    def savefig(self, file, format):
        assert format == "png"
        file.write(PNG)


@pytest.fixture(scope="module")
def workspace(home):
    return Workspace.create("yard", exist_ok=True, show_output=False)


@pytest.fixture
def run(workspace, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run = Experiment(workspace, "logged").start_logging(snapshot_directory=None)
    yield run
    run.complete()


def test_an_image_is_a_file_of_the_run_and_the_metric_its_address(run, tmp_path):
    (tmp_path / "some.png").write_bytes(PNG)
    run.log_image("drawn", plot=Plot())
    run.log_image("drawn", plot=Plot())
    run.log_image("given", path="./some.png")
    names = run.get_file_names()
    first, second = [name for name in names if name.startswith("drawn_")]
    assert first.rpartition("_")[2].removesuffix(".png").isdigit()
    address = f"aml://artifactId/ExperimentRun/dcid.{run.id}/"
    assert run.get_metrics("given") == {"given": address + "some.png"}
    assert sorted(run.get_metrics("drawn")["drawn"]) == [address + first, address + second]
    assert run.get_metrics("given", populate=True) == {"given": PNG}


def test_a_picture_drawn_over_and_logged_again_is_its_last_version(run, tmp_path):
    for pixels in range(20):
        (tmp_path / "some.png").write_bytes(PNG + bytes([pixels]))
        run.log_image("some", path="some.png")
    address = f"aml://artifactId/ExperimentRun/dcid.{run.id}/some.png"
    assert run.get_metrics("some") == {"some": [address] * 20}
    assert run.get_metrics("some", populate=True) == {"some": [PNG + bytes([19])] * 20}


def test_tables_for_charts_come_back_populated(run):
    run.log_confusion_matrix("matrix", MATRIX)
    run.log_accuracy_table("accuracy", json.dumps({"schema_type": "accuracy_table", "schema_version": "1", "data": {}}))
    run.log_predictions("predicted", {"schema_type": "predictions", "schema_version": "1", "data": np.array([1, 2])})
    run.log_residuals("left", {"schema_type": "residuals", "schema_version": "1", "data": {"bin_counts": (1, 2)}})
    found = run.get_metrics(populate=True)
    assert found["matrix"] == MATRIX
    assert found["accuracy"] == {"schema_type": "accuracy_table", "schema_version": "1", "data": {}}
    assert found["predicted"]["data"] == [1, 2]
    assert found["left"]["data"] == {"bin_counts": [1, 2]}
    assert found["matrix"] != run.get_metrics()["matrix"].startswith("aml://")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "either path="),
        ({"path": "a.png", "plot": Plot()}, "not both"),
        ({"path": "missing.png"}, "cannot be read"),
        ({"path": "text.txt"}, "is no image"),
        ({"plot": "text"}, "takes a matplotlib figure"),
    ],
)
def test_what_is_no_image_is_refused(run, tmp_path, given, said):
    (tmp_path / "text.txt").write_text("words")
    with pytest.raises(AzureMLException, match=said):
        run.log_image("image", **given)
    assert run.get_metrics() == {}


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("{", "no JSON"),
        ([1], "not a list"),
        ({"data": {}}, "needs schema_type, schema_version"),
        ({**MATRIX, "schema_type": "residuals"}, "schema_type of 'residuals'"),
    ],
)
def test_what_is_no_confusion_matrix_is_refused(run, value, said):
    with pytest.raises(UserErrorException, match=said):
        run.log_confusion_matrix("matrix", value)


def test_a_name_that_is_no_file_name_is_no_matter(run):
    run.log_image("../up\n/and \0over", plot=Plot())
    (name,) = [name for name in run.get_file_names() if name.endswith(".png")]
    assert name.startswith("_up__and _over_")


def test_texts_too_long_for_a_metric_are_cut_and_said(run, caplog):
    run.log("text", "x" * 10_000_000)
    run.log_row("row", long="\N{SNOWMAN}" * 3_000_000, number=1)
    found = run.get_metrics()
    assert len(found["text"]) == 500_000
    assert found["row"]["number"] == 1
    assert set(found["row"]["long"]) == {"\N{SNOWMAN}"}
    assert "upload_file" in caplog.text


def test_a_killed_job_loses_nothing_that_it_logged(workspace, tmp_path):
    (tmp_path / "train.py").write_text(JOB)
    own = Environment("own")
    own.python.user_managed_dependencies = True
    run = Experiment(workspace, "killed").submit(ScriptRunConfig(str(tmp_path), "train.py", environment=own))
    run.wait_for_completion(raise_on_error=False)
    assert run.get_metrics("curve", populate=True) == {"curve": b"\x89PNG\r\n\x1a\ndrawn"}
    loss, curve = sorted(run._runs.metrics(run.id), key=lambda series: series.name, reverse=True)
    assert (loss.description, loss.steps, loss.values) == ("smaller is better", (3,), (0.5,))
    assert curve.description == "how it went"


def test_steps_are_whole_numbers_of_any_kind(run):
    run.log("a", 1.0, step=np.int64(7))
    run.log("a", np.float32(2.0), step=8)
    assert run._runs.metrics(run.id)[0].steps == (7, 8)
    with pytest.raises(UserErrorException, match="whole number"):
        run.log("a", 1.0, step=1.5)


def test_what_is_logged_after_the_end_is_there(workspace, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    experiment = Experiment(workspace, "late")
    run = experiment.start_logging(snapshot_directory=None)
    stale = type(run)(experiment, run.id)
    run.complete()
    run.log_image("late", plot=Plot())
    stale.log("unheard", 1.0)
    assert run.get_metrics("late", populate=True) == {"late": PNG}
    assert run.get_metrics("unheard") == {"unheard": 1.0}
