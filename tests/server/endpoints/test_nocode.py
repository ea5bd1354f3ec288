"""Which models are served without code, and what is said of the others."""

from __future__ import annotations

import io
import pickle
import zipfile

import pytest

from trainyard.contract.errors import ModelRefused, PickleRefused
from trainyard.contract.models import ModelRecord
from trainyard.contract.serving import ScorerKind
from trainyard.server.endpoints.nocode import (
    NoCode,
    environment_of,
    packages_in,
    recognise,
    serves,
    versioned,
    warnings_of,
)


def model(framework: str | None, version: str | None = None) -> ModelRecord:
    return ModelRecord("m", 1, "ws", "0" * 64, 1, 1, "ada", 1, 1, framework=framework, framework_version=version)


def archive(*names: str) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as file:
        for name in names:
            file.writestr(name, b"x")
    return made.getvalue()


SCRIPT = archive("net/data.pkl", "net/constants.pkl", "net/code/__torch__.py")
STATE = archive("net/data.pkl", "net/data/0", "net/version")
EXPORTED = archive("net/archive_format", "net/models/model.json")


@pytest.mark.parametrize(
    ("framework", "files", "kind", "path"),
    [
        ("TensorFlow", ["net/saved_model.pb", "net/variables/variables.index"], ScorerKind.TENSORFLOW, "net"),
        ("TensorFlow", ["saved_model.pb", "variables/variables.index"], ScorerKind.TENSORFLOW, ""),
        ("TensorFlow", ["net/1/saved_model.pb", "net/12/saved_model.pb"], ScorerKind.TENSORFLOW, "net/12"),
        ("TfKeras", ["net/saved_model.pb"], ScorerKind.TENSORFLOW, "net"),
        ("TfKeras", ["net.keras"], ScorerKind.KERAS, "net.keras"),
        ("Onnx", ["net/model.onnx", "net/weights.bin"], ScorerKind.ONNX, "net/model.onnx"),
        ("ScikitLearn", ["model.pkl"], ScorerKind.SKLEARN, "model.pkl"),
        ("ScikitLearn", ["model"], ScorerKind.SKLEARN, "model"),
        ("XGBoost", ["model.json"], ScorerKind.XGBOOST, "model.json"),
        ("LightGBM", ["model.txt"], ScorerKind.LIGHTGBM, "model.txt"),
        ("Multi", ["model.onnx"], ScorerKind.ONNX, "model.onnx"),
        ("PyTorch", ["script.pt"], ScorerKind.TORCH, "script.pt"),
        ("PyTorch", ["exported.pt2"], ScorerKind.TORCH, "exported.pt2"),
    ],
)
def test_layouts(framework: str, files: list[str], kind: ScorerKind, path: str) -> None:
    content = {"script.pt": SCRIPT, "exported.pt2": EXPORTED}
    found = recognise(model(framework), files, lambda name: io.BytesIO(content[name]), allow_pickle=True)
    assert (found.kind, found.path) == (kind, path)


@pytest.mark.parametrize(
    ("framework", "files", "says"),
    [
        ("TensorFlow", ["saved_model.pb"], "register the folder, not a file in it"),
        ("TensorFlow", ["model.h5"], r"Expected for TensorFlow: a SavedModel folder.* It has: model\.h5"),
        ("Onnx", ["a.onnx", "b.onnx"], r"one \.onnx file"),
        ("ScikitLearn", ["a.pkl", "b.pkl"], "one estimator in one file"),
        ("PyTorch", ["state.pt"], "state dicts and models pickled whole need a scoring script"),
        ("PyTorch", ["nonsense.pt"], "one file of TorchScript"),
        ("TfKeras", ["weights.bin"], r"one \.keras or \.h5 file"),
        ("Multi", ["a.onnx", "b.pkl"], "do not say which one serves it"),
        ("Custom", ["a"], "has the model_framework Custom"),
        (None, ["a"], "has no model_framework"),
    ],
)
def test_what_was_expected_is_said(framework: str | None, files: list[str], says: str) -> None:
    content = {"state.pt": STATE, "nonsense.pt": b"no archive"}
    with pytest.raises(ModelRefused, match=says):
        recognise(model(framework), files, lambda name: io.BytesIO(content[name]), allow_pickle=True)


def test_pickles_need_their_owner_s_word() -> None:
    with pytest.raises(PickleRefused, match="TRAINYARD_ALLOW_PICKLE=1"):
        recognise(model("ScikitLearn"), ["model.pkl"], lambda name: io.BytesIO(), allow_pickle=False)
    assert recognise(model("Onnx"), ["m.onnx"], lambda name: io.BytesIO(), allow_pickle=False).kind is ScorerKind.ONNX


def test_the_framework_s_version_is_asked_for_and_may_be_replaced() -> None:
    python = environment_of(model("ScikitLearn", "0.22.1"), NoCode(ScorerKind.SKLEARN, "m.pkl"))["python"]
    [entry] = python["condaDependencies"]["dependencies"]
    assert entry["pip"] == ["scikit-learn==0.22.1", "numpy", "scipy", "joblib", "pandas"]
    assert python["frameworkDefaults"] == ["scikit-learn"]


def test_the_version_that_a_pickle_names_counts() -> None:
    estimator = pickle.dumps({"coef_": b"\0" * 100, "_sklearn_version": "1.9.1"})
    said = model("ScikitLearn", "0.19.1")
    found = versioned(NoCode(ScorerKind.SKLEARN, "m.pkl", pickle=True), lambda name: io.BytesIO(estimator))
    [entry] = environment_of(said, found)["python"]["condaDependencies"]["dependencies"]
    assert entry["pip"][0] == "scikit-learn==1.9.1"
    assert warnings_of(said, found) == (
        "Model m:1 is registered with scikit-learn 0.19.1, but its file was saved with 1.9.1, which serves it.",
    )
    assert warnings_of(model("ScikitLearn", "1.9.1"), found) == ()


def test_a_version_that_is_not_the_packages_s_is_left_out() -> None:
    python = environment_of(model("Onnx", "1.3"), NoCode(ScorerKind.ONNX, "m.onnx"))["python"]
    [entry] = python["condaDependencies"]["dependencies"]
    assert entry["pip"] == ["onnxruntime", "numpy"]


def test_the_training_s_own_environment_serves_where_it_can() -> None:
    lock = (
        "# Trainyard environment lock 1\n# python 3.11.7\n"
        "# conda https://x.test/linux-64/numpy-1.26.4-py311_0.conda abc\n"
        "tensorflow-cpu==2.21.0 \\\n    --hash=sha256:1\n"
    )
    there = packages_in(lock)
    assert there == {"tensorflow-cpu", "numpy"}
    assert serves(ScorerKind.TENSORFLOW, there)
    assert not serves(ScorerKind.SKLEARN, there)
