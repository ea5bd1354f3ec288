"""Models of the real frameworks, served without code: the request forms, refusals, and many requests in one call."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from deployed import Deployed

from trainyard.contract.serving import Scorer, ScorerKind, ServicePlan

Serve = Callable[..., Deployed]


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    made: list[Deployed] = []

    def start(kind: ScorerKind, model: Path, **settings: Any) -> Deployed:
        one = Scorer("1", sys.executable, str(tmp_path), kind, model_path=str(model), **settings)
        plan = ServicePlan(kind.value, 1, scorers=(one,))
        made.append(Deployed(tmp_path / "services" / f"{kind.value}-{len(made)}", tmp_path / "home", plan))
        return made[-1].start().healthy(120)

    yield start
    for deployed in made:
        deployed.stop()


def made_by(program: str, folder: Path) -> Path:
    """A model that a program of its own writes, so that no framework is loaded into the tests' process."""
    (folder / "make.py").write_text(program)  # a file, since TorchScript reads its classes' source
    done = subprocess.run([sys.executable, "make.py"], cwd=folder, timeout=100, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder


def together(deployed: Deployed, bodies: list[Any]) -> list[Any]:
    """Sent at once, so that they queue and are put together."""
    with ThreadPoolExecutor(len(bodies)) as pool:
        replies = list(pool.map(deployed.post, bodies))
    return [(reply.status, reply.json) for reply in replies]


def largest_batch(deployed: Deployed) -> int:
    """From the histogram: the first bound that holds them all."""
    lines = [line for line in deployed.get("/metrics").body.decode().splitlines() if "batch_size_bucket" in line]
    counts = [int(line.rpartition(" ")[2]) for line in lines]
    bound = lines[counts.index(counts[-1])].partition('le="')[2].partition('"')[0]
    return int(float(bound))


SAVED_MODEL = """
import tensorflow as tf

class Net(tf.Module):
    def __init__(self):
        self.w = tf.Variable([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])

    @tf.function(input_signature=[tf.TensorSpec([None, 3], tf.float32, name="x")])
    def serve(self, x):
        return {"y": tf.matmul(x, self.w)}

    @tf.function(input_signature=[
        tf.TensorSpec([None], tf.float32, name="a"), tf.TensorSpec([None], tf.int64, name="b")])
    def add(self, a, b):
        return {"sum": a + tf.cast(b, tf.float32), "twice": 2 * b}

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="text")])
    def upper(self, text):
        return {"text": tf.strings.upper(text)}

net = Net()
tf.saved_model.save(net, "model", {"serving_default": net.serve, "add": net.add, "upper": net.upper})
"""


def test_a_savedmodel_as_tensorflow_serving_is_asked(serve: Serve, tmp_path: Path) -> None:
    model = made_by(SAVED_MODEL, tmp_path) / "model"
    deployed = serve(ScorerKind.TENSORFLOW, model, batch=16, smoke='{"data": [[1, 1, 1]]}')
    ask = deployed.post
    assert ask({"instances": [[1, 0, 0], [1, 1, 1]]}).json == {"predictions": [[1.0, 2.0], [9.0, 12.0]]}
    assert ask({"instances": [{"x": [0, 1, 0]}]}).json == {"predictions": [[3.0, 4.0]]}
    assert ask({"inputs": [[0, 0, 2]]}).json == {"outputs": [[10.0, 12.0]]}
    assert ask({"inputs": {"x": [[0, 0, 2]]}, "signature_name": "serving_default"}).json == {"outputs": [[10.0, 12.0]]}
    assert ask({"data": [[1, 0, 0]]}).json == [[1.0, 2.0]]
    two = {"signature_name": "add", "instances": [{"a": 0.5, "b": 1}, {"a": 1.5, "b": 2}]}
    assert ask(two).json == {"predictions": [{"sum": 1.5, "twice": 2}, {"sum": 3.5, "twice": 4}]}
    columns = {"signature_name": "add", "inputs": {"a": [0.5], "b": [1]}}
    assert ask(columns).json == {"outputs": {"sum": [1.5], "twice": [2]}}
    texts = {"signature_name": "upper", "instances": ["abc", {"b64": base64.b64encode(b"xyz").decode()}]}
    assert ask(texts).json == {"predictions": ["ABC", "XYZ"]}
    assert ask({"instances": [[1, 0, 0]]}, "/v1/models/tensorflow:predict").json == {"predictions": [[1.0, 2.0]]}
    assert deployed.get("/v1/models/tensorflow").json == {
        "model_version_status": [
            {"version": "1", "state": "AVAILABLE", "status": {"error_code": "OK", "error_message": ""}}
        ]
    }
    told = deployed.get("/v1/models/tensorflow/versions/1/metadata").json
    assert told["model_spec"] == {"name": "tensorflow", "signature_name": "", "version": "1"}
    signatures = told["metadata"]["signature_def"]["signature_def"]
    assert sorted(signatures) == ["add", "serving_default", "upper"]
    rows = [{"size": "-1", "name": ""}]
    assert signatures["serving_default"] == {
        "inputs": {
            "x": {
                "dtype": "DT_FLOAT",
                "tensor_shape": {"dim": [*rows, {"size": "3", "name": ""}], "unknown_rank": False},
                "name": "x",
            }
        },
        "outputs": {
            "y": {
                "dtype": "DT_FLOAT",
                "tensor_shape": {"dim": [*rows, {"size": "2", "name": ""}], "unknown_rank": False},
                "name": "y",
            }
        },
        "method_name": "tensorflow/serving/predict",
    }
    assert ask({"examples": []}, "/v1/models/tensorflow:classify").status == 404
    upper = "The input 'text' (object, [?]) does not take what was sent:"
    refusals = [
        ({"signature_name": "upper", "instances": [{"b64": "*"}]}, upper),
        ({"signature_name": "upper", "instances": [3]}, upper + ' 3 is neither text nor {"b64": …}'),
        ({"instances": [[1, 2]]}, "The input 'x' (float32, [?, 3]) does not take the shape [1, 2]."),
        ({"instances": []}, '"instances" must be a list with at least one row.'),
        ({"instances": [{"z": [1, 2, 3]}]}, "The request's inputs do not match the model's, which are"),
        ({"instances": [["a", "b", "c"]]}, "The input 'x' (float32, [?, 3]) does not take what was sent:"),
        ({"data": [[1, 0, 0]], "signature_name": "none"}, "The model has no signature 'none' (it has: add,"),
        ({"rows": []}, 'The request needs one of "data", "instances" or "inputs".'),
    ]
    for body, said in refusals:
        reply = ask(body)
        assert (reply.status, reply.json["error"][: len(said)]) == (400, said)
    assert ask("{not json").status == 400
    assert deployed.ask("POST", "/score", b"x", {"Content-Type": "image/png"}).status == 415
    answers = together(deployed, [{"data": [[n, 0, 0]] * (n % 3 + 1)} for n in range(24)] + [{"data": [[1]]}])
    assert answers[:24] == [(200, [[float(n), 2.0 * n]] * (n % 3 + 1)) for n in range(24)]
    assert answers[24][0] == 400


ONNX = """
import numpy as np
from onnx import TensorProto, helper, numpy_helper, save

def graph(first):
    w = numpy_helper.from_array(np.array([[1.0], [2.0]], np.float32), "w")
    nodes = [helper.make_node("MatMul", ["x", "w"], ["y"]), helper.make_node("Neg", ["y"], ["z"])]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [first, 2])
    outs = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [first, 1]) for n in ("y", "z")]
    made = helper.make_model(helper.make_graph(nodes, "g", [x], outs, [w]), opset_imports=[helper.make_opsetid("", 13)])
    made.ir_version = 8
    return made

save(graph("n"), "any.onnx")
save(graph(1), "one.onnx")
"""


def test_onnx_in_tensors_and_in_plain_json(serve: Serve, tmp_path: Path) -> None:
    made_by(ONNX, tmp_path)
    deployed = serve(ScorerKind.ONNX, tmp_path / "any.onnx", batch=8)
    raw = base64.b64encode(np.array([[3, 4]], "<f4").tobytes()).decode()
    tensor = {"dims": ["1", "2"], "dataType": 1, "rawData": raw}
    reply = deployed.post({"inputs": {"x": tensor}, "outputFilter": ["y"]}).json
    eleven = base64.b64encode(np.array([11], "<f4").tobytes()).decode()
    assert reply == {"outputs": {"y": {"dims": ["1", "1"], "dataType": 1, "rawData": eleven}}}
    values = {"dims": [1, 2], "dataType": 1, "floatData": [3, 4]}
    assert deployed.post({"inputs": {"x": values}, "outputFilter": ["y"]}).json == reply
    assert deployed.post({"data": [[3, 4], [1, 1]]}).json == {"y": [[11.0], [3.0]], "z": [[-11.0], [-3.0]]}
    assert deployed.post({"data": [[3, 4]], "outputFilter": ["z"]}).json == [[-11.0]]
    for body, said in [
        ({"inputs": {"x": {**tensor, "dataType": 7}}}, "The tensor for the input 'x'"),
        ({"inputs": {"x": {**tensor, "dataType": 99}}}, "The input 'x' (float32, [?, 2]) has the dataType 99,"),
        ({"inputs": {"x": {**tensor, "dims": [3]}}}, "The tensor for the input 'x'"),
        ({"inputs": {"q": tensor}}, "The model's inputs are 'x' (float32, [?, 2]); got q."),
        ({"data": [[1, 2]], "outputFilter": ["q"]}, "The model has no output 'q' (it has: y, z)."),
        ({"data": [[1, 2, 3]]}, "The input 'x' (float32, [?, 2]) does not take the shape [1, 3]."),
    ]:
        answer = deployed.post(body)
        assert (answer.status, answer.json["error"][: len(said)]) == (400, said)
    one = serve(ScorerKind.ONNX, tmp_path / "one.onnx", batch=8)  # it takes one row and no more
    bodies = [{"data": [[n, 0]], "outputFilter": ["y"]} for n in range(12)]
    assert together(one, bodies) == [(200, [[float(n)]]) for n in range(12)]


SKLEARN = """
import joblib
import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

x = np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0], [3.0, 3.0]])
joblib.dump(LogisticRegression(C=1e6).fit(x, [0, 0, 1, 1]), "classifier.pkl")
joblib.dump(LinearRegression().fit(x, [0.0, 2.0, 4.0, 6.0]), "regressor.joblib")
table = pd.DataFrame({"color": ["red", "blue", "red", "blue"], "size": [1.0, 2.0, 3.0, 4.0]})
kinds = ColumnTransformer([("color", OneHotEncoder(), ["color"])], remainder="passthrough")
joblib.dump(make_pipeline(kinds, LinearRegression()).fit(table, [11.0, 22.0, 13.0, 24.0]), "pipeline.pkl")
joblib.dump({"weights": [1, 2]}, "dict.pkl")
"""


def test_scikit_learn(serve: Serve, tmp_path: Path) -> None:
    made_by(SKLEARN, tmp_path)
    classifier = serve(ScorerKind.SKLEARN, tmp_path / "classifier.pkl", batch=8)
    assert classifier.post({"data": [[0, 0], [3, 3]], "method": "predict"}).json == {"predict": [0, 1]}
    likely = classifier.post({"data": [[3, 3]]}).json["predict_proba"]
    assert likely[0][1] > 0.99
    assert classifier.post({"instances": [[0, 0]], "method": "predict"}).json == {"predictions": [0]}
    for body, said in [
        ({"data": [[1, 2, 3]]}, "The model takes rows of 2 values, not of 3."),
        ({"data": [1, 2]}, '"data" must be a list of rows, each a list of values; its shape is [2].'),
        ({"data": [[0, 0]], "method": "fit"}, "The model has no method 'fit' (it has: predict, predict_proba,"),
        ({"rows": [[0, 0]]}, 'The request needs "data": a list of rows,'),
    ]:
        reply = classifier.post(body)
        assert (reply.status, reply.json["error"][: len(said)]) == (400, said)
    bodies = [{"data": [[n, n]], "method": "predict"} for n in range(4)] * 4
    assert together(classifier, bodies) == [(200, {"predict": [label]}) for label in [0, 0, 1, 1] * 4]
    pipeline = serve(ScorerKind.SKLEARN, tmp_path / "pipeline.pkl")
    rows = [{"size": 5.0, "color": "red"}, {"size": 6.0, "color": "blue"}]
    assert pipeline.post({"data": rows}).json["predict"] == pytest.approx([15.0, 26.0])
    split = {"data": {"columns": ["color", "size"], "data": [["red", 5.0]]}}
    assert pipeline.post(split).json["predict"] == pytest.approx([15.0])
    assert pipeline.post({"data": [["red", 5.0]]}).json["predict"] == pytest.approx([15.0])
    assert "wants the columns color, size" in pipeline.post({"data": [{"size": 1.0}]}).json["error"]


def test_a_pickle_that_is_no_model(tmp_path: Path) -> None:
    made_by(SKLEARN, tmp_path)
    one = Scorer("1", sys.executable, str(tmp_path), ScorerKind.SKLEARN, model_path=str(tmp_path / "dict.pkl"))
    deployed = Deployed(tmp_path / "service", tmp_path / "home", ServicePlan("dict", 1, scorers=(one,)))
    try:
        error = deployed.start().settled().error
    finally:
        deployed.stop()
    assert error is not None
    assert "The file holds a dict, which has none of predict," in error


TORCH = """
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(2, 1, bias=False)
        with torch.no_grad():
            self.linear.weight.copy_(torch.tensor([[1.0, 10.0]]))

    def forward(self, x):
        return self.linear(x)

class Words(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.table = torch.nn.Embedding(4, 1)
        with torch.no_grad():
            self.table.weight.copy_(torch.tensor([[0.0], [1.0], [2.0], [3.0]]))

    def forward(self, words):
        return self.table(words).sum(1), words

torch.jit.script(Net()).save("script.pt")
torch.jit.script(Words()).save("words.pt")
batch = torch.export.Dim("batch")
program = torch.export.export(Net(), (torch.ones(3, 2),), dynamic_shapes={"x": {0: batch}})
torch.export.save(program, "program.pt2")
"""


def test_torch_script_and_torch_export(serve: Serve, tmp_path: Path) -> None:
    made_by(TORCH, tmp_path)
    script = serve(ScorerKind.TORCH, tmp_path / "script.pt", batch=8)
    assert script.post({"data": [[1, 2], [3, 4]]}).json == [[21.0], [43.0]]
    assert script.post({"inputs": {"x": [[1, 2]]}}).json == {"outputs": [[21.0]]}
    assert script.post({"data": [[1, 2, 3]]}).status == 500  # TorchScript does not say what shape it takes
    assert together(script, [{"data": [[n, 0]]} for n in range(16)]) == [(200, [[float(n)]]) for n in range(16)]
    words = serve(ScorerKind.TORCH, tmp_path / "words.pt")
    assert words.post({"data": [[1, 3]]}).json == {"output_0": [[4.0]], "output_1": [[1, 3]]}
    assert "it has fractions" in words.post({"data": [[1.5]]}).json["error"]
    program = serve(ScorerKind.TORCH, tmp_path / "program.pt2")
    assert program.post({"data": [[1, 2]]}).json == [[21.0]]
    assert program.post({"data": [[1, 2, 3]]}).json["error"] == (
        "The input 'x' (float32, [?, 2]) does not take the shape [1, 3]."
    )


KERAS = """
import keras
import numpy as np

model = keras.Sequential([keras.Input((2,), name="x"), keras.layers.Dense(1, use_bias=False, name="y")])
model.layers[-1].set_weights([np.array([[1.0], [10.0]])])
model.save("model.keras")
model.save("model.h5")
"""


def test_keras_files(serve: Serve, tmp_path: Path) -> None:
    made_by(KERAS, tmp_path)
    new = serve(ScorerKind.KERAS, tmp_path / "model.keras")
    assert new.post({"data": [[1, 2]]}).json == [[21.0]]
    assert new.post({"instances": [[1, 2], [3, 4]]}).json == {"predictions": [[21.0], [43.0]]}
    assert new.post({"data": [[1, 2, 3]]}).status == 400
    new.stop()
    assert serve(ScorerKind.KERAS, tmp_path / "model.h5").post({"data": [[1, 2]]}).json == [[21.0]]


LIGHTGBM = """
import lightgbm, numpy as np
x = np.arange(200.0).reshape(100, 2)
settings = {"objective": "regression", "verbose": -1, "min_data_in_leaf": 1}
lightgbm.train(settings, lightgbm.Dataset(x, (x[:, 0] > 100) * 1.0), 50).save_model("model.txt")
"""
XGBOOST = """
import xgboost, numpy as np
x = np.arange(200.0).reshape(100, 2)
xgboost.train({"objective": "reg:squarederror"}, xgboost.DMatrix(x, (x[:, 0] > 100) * 1.0), 50).save_model("model.json")
"""


@pytest.mark.parametrize(
    ("kind", "program", "file"),
    [(ScorerKind.LIGHTGBM, LIGHTGBM, "model.txt"), (ScorerKind.XGBOOST, XGBOOST, "model.json")],
)
def test_boosted_trees(serve: Serve, tmp_path: Path, kind: ScorerKind, program: str, file: str) -> None:
    pytest.importorskip(kind.value)
    deployed = serve(kind, made_by(program, tmp_path) / file)
    low, high = deployed.post({"data": [[10, 11], [180, 181]]}).json
    assert low < 0.1
    assert high > 0.9
    assert deployed.post({"data": [[10]]}).json["error"].endswith("does not take the shape [1, 1].")


SCHEMA = """
import numpy as np
import pandas as pd
from inference_schema.parameter_types.numpy_parameter_type import NumpyParameterType
from inference_schema.parameter_types.pandas_parameter_type import PandasParameterType
from inference_schema.parameter_types.standard_py_parameter_type import StandardPythonParameterType
from inference_schema.schema_decorators import input_schema, output_schema

def init():
    pass

@input_schema("data", NumpyParameterType(np.array([[1, 2], [3, 4]])))
@input_schema("frame", PandasParameterType(pd.DataFrame({"size": [1.5]})))
@input_schema("scale", StandardPythonParameterType(2.0))
@output_schema(StandardPythonParameterType([1.0]))
def run(data, frame, scale=3.0):
    assert isinstance(data, np.ndarray) and isinstance(frame, pd.DataFrame)
    return (data.sum(axis=1) * scale + frame["size"].sum()).tolist()
"""


def test_inference_schema_makes_arguments_and_swagger(tmp_path: Path) -> None:
    (tmp_path / "score.py").write_text(SCHEMA)
    one = Scorer("1", sys.executable, str(tmp_path), source=str(tmp_path), entry_script="score.py")
    deployed = Deployed(tmp_path / "service", tmp_path / "home", ServicePlan("schema", 1, scorers=(one,)))
    try:
        deployed.start().healthy()
        body = {"data": [[1, 2], [3, 4]], "frame": [{"size": 1.0}], "scale": 10}
        assert deployed.post(body).json == [31.0, 71.0]
        del body["scale"]
        assert deployed.post(body).json == [10.0, 22.0]
        del body["frame"]
        reply = deployed.post(body)
        assert (reply.status, reply.json) == (400, {"message": "A value is not provided for the 'frame' parameter."})
        reply = deployed.ask("POST", "/score", json.dumps(body).encode(), {"Content-Type": "text/plain"})
        assert (reply.status, reply.json) == (415, {"message": "Expects Content-Type to be application/json"})
        assert deployed.post("[1]").json == {"message": "POST body should be a JSON dictionary."}
        assert deployed.post("").json == {"message": "POST body is empty. Expecting a JSON dictionary."}
        assert deployed.post("{").json["message"].startswith("POST body could not be decoded as JSON: ")
        swagger = deployed.get("/swagger.json").json
        given = swagger["definitions"]["ServiceInput"]
        assert set(given["properties"]) == {"data", "frame", "scale"}
        assert given["properties"]["data"]["items"]["items"]["type"] == "integer"
        assert swagger["definitions"]["ServiceOutput"]["type"] == "array"
    finally:
        deployed.stop()
