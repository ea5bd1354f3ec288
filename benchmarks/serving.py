"""Deployed services beside a bare Starlette program with the same model, and beside peers where there are any: latency
at 1 and 32 connections, requests a second, with and without batches. The servers of a model run at the same time and
are asked in turns, in short slices, of which the best counts.

Run: python benchmarks/serving.py [PEERS_PYTHON]     (PEERS_PYTHON: an interpreter with mlflow, litserve, scikit-learn
and azureml-inference-server-http installed)"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, replace

from load import Load, drive, post
from measure import Row, show

from trainyard.contract.codec import to_json
from trainyard.contract.serving import Scorer, ScorerKind, ServicePlan

HERE = os.path.dirname(os.path.abspath(__file__))
ADDED_MS = 0.2  # the budget: what a request may cost more than in the bare program
ROUNDS, SLICE_S = 10, 0.4
MANY = 32

ECHO = "import json\ndef init(): pass\ndef run(data): return json.loads(data)['data']\n"
SKLEARN_SCRIPT = """
import json, os
import joblib
def init():
    global model
    model = joblib.load(os.path.join(os.environ["AZUREML_MODEL_DIR"], "model.pkl"))
def run(data):
    return model.predict(json.loads(data)["data"]).tolist()
"""
MAKE = {
    "echo": "",
    "scikit-learn": """
import joblib
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
x, y = load_digits(return_X_y=True)
joblib.dump(LogisticRegression(max_iter=50).fit(x / 16, y), "model.pkl")
""",
    "SavedModel": """
import tensorflow as tf
net = tf.keras.Sequential([tf.keras.Input((784,)), tf.keras.layers.Dense(128, "relu"), tf.keras.layers.Dense(10)])
tf.saved_model.save(net, "model")
""",
    "ONNX": """
import numpy as np
from onnx import TensorProto as T, helper as h, numpy_helper as n, save
r = np.random.default_rng(0)
w = [n.from_array(r.normal(size=s).astype("f4"), k) for k, s in (("a", (784, 128)), ("b", (128, 10)))]
steps = ("MatMul", ["x", "a"], ["p"]), ("Relu", ["p"], ["q"]), ("MatMul", ["q", "b"], ["y"])
nodes = [h.make_node(*step) for step in steps]
ports = [h.make_tensor_value_info("x", T.FLOAT, ["n", 784])], [h.make_tensor_value_info("y", T.FLOAT, ["n", 10])]
m = h.make_model(h.make_graph(nodes, "g", *ports, w), opset_imports=[h.make_opsetid("", 13)]); m.ir_version = 8
save(m, "model.onnx")
""",
}
KINDS = {
    "echo": (ScorerKind.SCRIPT, None),
    "scikit-learn": (ScorerKind.SKLEARN, "model.pkl"),
    "SavedModel": (ScorerKind.TENSORFLOW, "model"),
    "ONNX": (ScorerKind.ONNX, "model.onnx"),
}
BODIES = {
    "echo": {"data": [1, 2, 3]},
    "scikit-learn": {"data": [[0.5] * 64], "method": "predict"},
    "SavedModel": {"data": [[0.5] * 784]},
    "ONNX": {"data": [[0.5] * 784]},
}
PEERS = {"echo": ("mlflow", "litserve", "azmlinfsrv"), "scikit-learn": ("mlflow", "litserve", "azmlinfsrv")}


@dataclass(frozen=True)
class Server:
    name: str
    port: int
    request: bytes


@dataclass
class Taken:
    """Of many short slices the best one counts: what else the machine does only ever adds."""

    alone: list[Load]
    many: list[Load]

    def p50(self) -> float:
        return min(load.percentile(0.5) for load in self.alone)

    def p99(self) -> float:
        return min(load.percentile(0.99) for load in self.alone)

    def rate(self) -> float:
        return max(load.rate for load in self.many)

    def p50_many(self) -> float:
        return min(load.percentile(0.5) for load in self.many)

    def p99_many(self) -> float:
        return min(load.percentile(0.99) for load in self.many)


def main(peers: str | None) -> None:
    for model in MAKE:
        with tempfile.TemporaryDirectory(prefix="serving-") as folder, contextlib.ExitStack() as stack:
            _make(model, folder)
            servers = [
                stack.enter_context(ours(model, folder, "ours")),
                stack.enter_context(bare(model, folder)),
            ]
            if KINDS[model][0] is not ScorerKind.SCRIPT:
                servers.append(stack.enter_context(ours(model, folder, "ours, in batches", batch=32)))
            wanted = PEERS.get(model, ()) if peers else ()
            servers += [stack.enter_context(of_peer(peer, str(peers), model, folder)) for peer in wanted]
            report(model, {server.name: taken for server, taken in measured(servers)})


def measured(servers: list[Server]) -> list[tuple[Server, Taken]]:
    taken = [Taken([], []) for _ in servers]
    for server in servers:
        drive(server.port, server.request, 4, 0.5)  # warm
    for _ in range(ROUNDS):
        for server, into in zip(servers, taken, strict=True):
            into.alone.append(_checked(server, drive(server.port, server.request, 1, SLICE_S)))
    for _ in range(ROUNDS):
        for server, into in zip(servers, taken, strict=True):
            into.many.append(_checked(server, drive(server.port, server.request, MANY, SLICE_S)))
    return list(zip(servers, taken, strict=True))


def report(model: str, taken: dict[str, Taken]) -> None:
    ours_, bare_ = taken["ours"], taken["bare"]
    rows = [
        Row("p50, 1 connection", ours_.p50(), bare_.p50(), budget=bare_.p50() + ADDED_MS, over="bare"),
        Row("p99, 1 connection", ours_.p99(), bare_.p99(), over="bare"),
        Row(f"p50, {MANY} connections", ours_.p50_many(), bare_.p50_many(), over="bare"),
        Row(f"p99, {MANY} connections", ours_.p99_many(), bare_.p99_many(), over="bare"),
        Row("requests a second", ours_.rate(), bare_.rate(), unit="/s", over="bare"),
    ]
    others = {name: other for name, other in taken.items() if name not in ("ours", "bare")}
    for name, other in others.items():
        rows += [
            Row("p50, 1 connection", ours_.p50(), other.p50(), over=name),
            Row(f"p50, {MANY} connections", ours_.p50_many(), other.p50_many(), over=name),
            Row("requests a second", ours_.rate(), other.rate(), unit="/s", over=name),
        ]
    show(f"\n{model}", rows)


@contextlib.contextmanager
def ours(model: str, folder: str, name: str, **settings: int) -> Iterator[Server]:
    kind, path = KINDS[model]
    service = os.path.join(folder, name.replace(", ", "-").replace(" ", "-"))
    os.makedirs(service)
    one = Scorer("1", sys.executable, folder, kind, source=folder)
    one = replace(one, **settings) if kind is not ScorerKind.SCRIPT else replace(one, entry_script="score.py")
    if path is not None:
        one = replace(one, model_path=os.path.join(folder, path))
    plan = ServicePlan("bench", 1, scorers=(one,))
    with open(os.path.join(service, "plan.json"), "w", encoding="utf-8") as file:
        json.dump(to_json(plan), file)
    began = time.perf_counter()
    with _program([sys.executable, "-m", "trainyard.serving.front", service], folder):
        port = _until_healthy(service)
        print(f"{model}: {name} answers {time.perf_counter() - began:.2f} s after its start", flush=True)
        yield Server(name, port, post("/score", json.dumps(BODIES[model]).encode()))


@contextlib.contextmanager
def bare(model: str, folder: str) -> Iterator[Server]:
    port = _free_port()
    argv = [sys.executable, os.path.join(HERE, "serving_peers", "bare.py"), model, folder, str(port)]
    with _program(argv, folder):
        _until_open(port)
        yield Server("bare", port, post("/score", json.dumps(BODIES[model]).encode()))


@contextlib.contextmanager
def of_peer(peer: str, python: str, model: str, folder: str) -> Iterator[Server]:
    """The peer's own program, one worker, in its own environment."""
    port = _free_port()
    programs = os.path.dirname(python)
    body = BODIES[model]
    path = "/score"
    if peer == "azmlinfsrv":
        argv = [os.path.join(programs, "azmlinfsrv"), "--entry_script", "score.py", "--port", str(port)]
    elif peer == "litserve":
        path = "/predict"
        argv = [python, os.path.join(HERE, "serving_peers", "lit.py"), model, folder, str(port)]
    else:
        path, saved = "/invocations", os.path.join(folder, "mlflow-model")
        script = os.path.join(HERE, "serving_peers", "mlflow_model.py")
        subprocess.run([python, script, model, folder, saved], check=True, capture_output=True, cwd=folder)
        argv = [os.path.join(programs, "mlflow"), "models", "serve", "-m", saved, "-p", str(port)]
        argv += ["--env-manager", "local", "-w", "1"]
        body = {"inputs": body["data"]}
    with _program(argv, folder, AZUREML_MODEL_DIR=folder, PATH=f"{programs}{os.pathsep}{os.environ['PATH']}"):
        request = post(path, json.dumps(body).encode())
        _until_answers(port, path, json.dumps(body).encode())
        yield Server(peer, port, request)


@contextlib.contextmanager
def _program(argv: list[str], folder: str, **variables: str) -> Iterator[None]:
    environment = {
        **os.environ,
        "TRAINYARD_HOME": os.path.join(folder, "home"),
        "TF_CPP_MIN_LOG_LEVEL": "3",
        **variables,
    }
    with open(os.path.join(folder, "output.txt"), "ab") as output:
        process = subprocess.Popen(
            argv, cwd=folder, env=environment, stdout=output, stderr=output, start_new_session=True
        )
    try:
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, 15)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)


def _make(model: str, folder: str) -> None:
    with open(os.path.join(folder, "score.py"), "w", encoding="utf-8") as file:
        file.write(ECHO if model == "echo" else SKLEARN_SCRIPT)
    if MAKE[model]:
        subprocess.run([sys.executable, "-c", MAKE[model]], cwd=folder, check=True, capture_output=True)


def _checked(server: Server, load: Load) -> Load:
    if load.failed:
        raise SystemExit(f"{server.name}: {load.failed} requests failed")
    return load


def _until_healthy(service: str) -> int:
    for _ in range(6000):
        with contextlib.suppress(OSError, ValueError), open(os.path.join(service, "status.json")) as file:
            status = json.load(file)
            if status["state"] == "Failed":
                raise SystemExit(status["error"])
            if status["state"] == "Healthy":
                return int(status["url"].rpartition(":")[2])
        time.sleep(0.01)
    raise SystemExit("not healthy within a minute")


def _until_open(port: int) -> None:
    for _ in range(6000):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
            return
        time.sleep(0.01)


def _until_answers(port: int, path: str, body: bytes) -> None:
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", body, {"Content-Type": "application/json"})
    for _ in range(600):
        with contextlib.suppress(OSError), urllib.request.urlopen(request) as reply:
            reply.read()
            return
        time.sleep(0.1)
    raise SystemExit(f"nothing answers at {path} within a minute")


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as sock:
        return int(sock.getsockname()[1])


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # the servers end with us
    main(sys.argv[1] if len(sys.argv) > 1 else os.environ.get("TRAINYARD_PEERS"))
