from __future__ import annotations

import json
from pathlib import Path

import pytest

from trainyard.cli.main import execute

SCRIPT = """\
import numpy as np
import tensorflow as tf
from azureml.core import Workspace, Experiment, ScriptRunConfig
from azureml.pipeline.core import Pipeline
from azureml.core.compute import AmlCompute, ComputeTarget

ws = Workspace.from_config()
print(ws.name, ws.nothing_like_this)
config = ScriptRunConfig('.', script='train.py', no_such_argument=1)
run = Experiment(ws, 'x').submit(config)
run.wait_for_completion(show_output=True)
print(run.get_metrics(), run.divine())
target = ComputeTarget.create(ws, 'c', AmlCompute.provisioning_configuration(max_nodes=1))
target.wait_for_completion(min_node_count=None)
x = np.float(1), tf.Session()
data = 'http://yann.lecun.com/exdb/mnist/train-images-idx3-ubyte.gz'
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "train.py").write_text(SCRIPT)
    return tmp_path / "work"


def found(folder: Path, capsys: pytest.CaptureFixture[str], *more: str) -> list[tuple[str, int, str]]:
    """Everything but the names that are here."""
    execute(["check", str(folder), "--json", *more])
    report = json.loads(capsys.readouterr().out)
    return [(it["kind"], it["line"], it["name"]) for it in report["findings"] if it["kind"] != "here"]


def test_a_script_line_by_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert found(folder, capsys) == [
        ("missing", 4, "azureml.pipeline"),
        ("missing", 8, "Workspace.nothing_like_this"),
        ("missing", 9, "ScriptRunConfig(no_such_argument=)"),
        ("missing", 12, "ScriptRun.divine"),
        ("shim", 15, "numpy.float"),
        ("shim", 15, "tensorflow.Session"),
        ("address", 16, "http://yann.lecun.com/exdb/mnist/train-images-idx3-ubyte.gz"),
    ]


def test_it_says_so_and_ends_with_1(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert execute(["check", str(folder)]) == 1
    shown = " ".join(capsys.readouterr().out.split())
    assert "azureml.pipeline" in shown
    assert "pipelines are not part of" in shown
    assert "1 file(s) cannot run as they are." in shown


def test_a_clean_script_ends_with_0(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "train.py").write_text("from azureml.core import Run\nrun = Run.get_context()\nrun.log('a', 1)\n")
    assert execute(["check", str(tmp_path / "train.py")]) == 0
    assert "All of it can run here." in capsys.readouterr().out
    (tmp_path / "train.py").write_text("import numpy as np\nnp.float(1)\ndata = 'https://there.example/a.csv'\n")
    assert execute(["check", str(tmp_path / "train.py")]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "All of it can run here with TRAINYARD_RELAX_PINS=1, if its data are where it looks for them." in said


def notebook(*cells: str) -> str:
    return json.dumps({"cells": [{"cell_type": "code", "source": cell.splitlines(True)} for cell in cells]})


def test_a_notebook_with_what_ipython_adds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.ipynb").write_text(
        notebook(
            "%matplotlib inline\nimport tensorflow as tf\nfrom azureml.core import Experiment",
            "!pip install x\nfiles = !ls\ntf.reset_default_graph()",
            "%%writefile train.py\nimport numpy as np\nnp.int(3)",
            "%%writefile env.yml\ndependencies:\n- python=3.6.2\n- pip:\n  - tensorflow==1.13.1\n  - flask==1.0",
            "%%bash\nnot python at all",
            "this is no python",
        )
    )
    execute(["check", str(tmp_path), "--json"])
    report = json.loads(capsys.readouterr().out)
    assert [(it["kind"], it["cell"], it["line"], it["name"]) for it in report["findings"] if it["kind"] != "here"] == [
        ("shim", 2, 3, "tensorflow.reset_default_graph"),
        ("shim", 3, 3, "numpy.int"),
        ("pin", 4, 3, "python=3.6.2"),
        ("pin", 4, 5, "tensorflow==1.13.1"),
        ("unread", 6, 1, "a.ipynb"),
    ]


def test_a_script_that_several_cells_write(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """And one that is written anew: both are read."""
    (tmp_path / "a.ipynb").write_text(
        notebook(
            "%%writefile train.py\nimport numpy as np\nif True:\n    np.int(1)",
            "%%writefile other.py\nimport numpy\nnumpy.float(1)",
            "%%writefile -a train.py\n\n    np.float(2)\nelse:\n    np.bool(3)",
            "%%writefile --append train.py\nnp.object",
            "%%writefile other.py\nimport numpy\nnumpy.str(1)",
        )
    )
    execute(["check", str(tmp_path), "--json"])
    found = [(it["cell"], it["line"], it["name"]) for it in json.loads(capsys.readouterr().out)["findings"]]
    assert (4, 2, "numpy.object") in found
    assert {name for _, _, name in found} == {f"numpy.{it}" for it in ("int", "float", "bool", "object", "str")}


def test_notebooks_of_other_languages(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, cell in (("sdk", "library(azuremlsdk)"), ("plain", "data <- ws$datasets")):
        body = {**json.loads(notebook(cell)), "metadata": {"kernelspec": {"language": "R", "name": "ir"}}}
        (tmp_path / f"{name}.ipynb").write_text(json.dumps(body))
    execute(["check", str(tmp_path), "--json"])
    report = json.loads(capsys.readouterr().out)
    assert [(it["file"], it["note"]) for it in report["findings"]] == [
        ("sdk.ipynb", "is a notebook in R. Trainyard is used from Python")
    ]


def test_pins_in_code_and_lists(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.py").write_text(
        "from azureml.core.conda_dependencies import CondaDependencies\n"
        "from azureml.train.dnn import TensorFlow\n"
        "cd = CondaDependencies.create(pip_packages=['torch==1.0.0', 'azureml-defaults'],\n"
        "                              conda_packages=['scikit-learn==1.5.0'])\n"
        "cd.add_pip_package('numpy==1.14')\n"
        "TensorFlow('.', framework_version='1.13')\n"
    )
    (tmp_path / "requirements.txt").write_text("pandas==0.23.4\nflask==1.0\nxgboost==0.90\n")  # fits any Python 3
    (tmp_path / "other.yml").write_text("- torch==1.0.0\n")
    assert found(tmp_path, capsys) == [
        ("pin", 3, "torch==1.0.0"),
        ("pin", 5, "numpy==1.14"),
        ("pin", 6, "tensorflow==1.13"),
        ("pin", 1, "pandas==0.23.4"),
    ]


def test_what_is_there_and_refuses(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """And a datastore is of the class of its kind: what it has is not told by the source."""
    (tmp_path / "a.py").write_text(
        "from azureml.core import Datastore, Workspace\n"
        "ws = Workspace.from_config()\n"
        "store = Datastore(ws, 'mine')\n"
        "store.upload('.'), store.name, store.container_name\n"
        "Datastore.register_azure_data_lake(ws, 'lake')\n"
        "from azureml._restclient import JasmineClient\n"
    )
    assert found(tmp_path, capsys) == [
        ("missing", 5, "azureml.core.Datastore.register_azure_data_lake"),
        ("missing", 6, "azureml._restclient"),
    ]


def test_a_name_that_is_something_else_by_then(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.py").write_text(
        "from azureml.core import Run, model, run\n"
        "model.nothing\n"
        "model, other = train()\n"
        "model.anything\n"
        "def log(run):\n"
        "    run.everything\n"
    )
    assert found(tmp_path, capsys) == [("missing", 2, "azureml.core.model.nothing")]


def test_an_address_that_is_mapped(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRAINYARD_URL_MAP", json.dumps({"http://yann.lecun.com/exdb/mnist/": "http://mirror/"}))
    execute(["check", str(folder), "--json"])
    notes = [it["note"] for it in json.loads(capsys.readouterr().out)["findings"] if it["kind"] == "address"]
    assert notes == ["comes from http://mirror/ (TRAINYARD_URL_MAP)"]


def test_files_that_are_not_what_they_say(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "old.py").write_text("print 'hello'\n")
    (tmp_path / "older.py").write_text("x = 1\nx.cuda(async=True)\n")
    (tmp_path / "broken.ipynb").write_text("{not json")
    (tmp_path / "bytes.py").write_bytes(b"\xff\xfe\x00")
    execute(["check", str(tmp_path), "--json"])
    notes = {it["file"]: it["note"] for it in json.loads(capsys.readouterr().out)["findings"]}
    assert notes.keys() == {"broken.ipynb", "bytes.py", "old.py", "older.py"}
    assert notes["old.py"].endswith("; it looks like Python 2")
    assert notes["older.py"].endswith("; async is a keyword since Python 3.7, and PyTorch's argument is non_blocking=")


def test_nothing_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert execute(["check", str(tmp_path / "nowhere")]) == 1
    assert "Give a folder, a notebook or a script." in capsys.readouterr().err
    assert execute(["check", str(tmp_path)]) == 0
    assert "No notebook and no script there." in capsys.readouterr().out
