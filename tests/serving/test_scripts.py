"""Scoring scripts as users write them, through the whole way: front, socket, worker."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from deployed import Deployed, scorer

from trainyard.contract.serving import ServiceState

OfScript = Callable[..., Deployed]

SUMS = """
import json
import os

import helper

def init():
    global greeting
    print("init in", os.getcwd())
    with open(os.path.join(os.environ["AZUREML_MODEL_DIR"], "model.txt")) as file:
        greeting = file.read()

def run(data):
    rows = json.loads(data)["data"]
    print("scoring", len(rows), "rows")
    return {"greeting": greeting, "sums": helper.sums(rows)}
"""


def test_a_script_with_its_model_and_a_module_beside_it(written, service, tmp_path):
    source = written(SUMS, helper__py="def sums(rows):\n    return [sum(row) for row in rows]\n")
    models = tmp_path / "azureml-models/greeting/3"
    models.mkdir(parents=True)
    (models / "model.txt").write_text("hello")
    deployed = service(scorer(source, models=models, smoke='{"data": [[0]]}')).start().healthy()
    reply = deployed.post({"data": [[1, 2], [3, 4]]})
    assert (reply.status, reply.json) == (200, {"greeting": "hello", "sums": [3, 7]})
    assert reply.headers["content-type"] == "application/json"
    assert float(reply.headers["x-ms-run-fn-exec-ms"]) < 1000
    log = deployed.log()
    assert f"init in {source}\nscoring 1 rows\n" in log  # the smoke test came first
    assert "scoring 2 rows\n" in log
    assert " POST /score 200 " in log


def test_paths_of_a_cluster_s_service_and_the_pages_around_it(of_script: OfScript) -> None:
    deployed = of_script("def init(): pass\ndef run(data): return data\n")
    assert deployed.post("hi", "/api/v1/service/echo/score").json == "hi"
    assert deployed.get("/").body == b"Healthy"
    assert deployed.get("/api/v1/service/echo/").body == b"Healthy"
    assert deployed.post("hi", "/elsewhere").status == 404
    assert deployed.get("/v1/models/echo/metadata").status == 404
    assert deployed.ask("DELETE", "/score").status == 405
    assert deployed.ask("OPTIONS", "/score").status == 200
    swagger = deployed.get("/api/v1/service/echo/swagger.json").json
    assert (swagger["swagger"], swagger["info"]["title"]) == ("2.0", "echo")
    assert deployed.get("/swagger.json?version=3").json["openapi"] == "3.0.3"
    assert deployed.get("/swagger.json?version=9").json["message"] == (
        "There is no swagger document of version '9' for this service (there are: 2, 3)."
    )


RESULTS = """
import datetime
import json

import numpy

def init():
    pass

def run(data):
    return eval(data)
"""


@pytest.mark.parametrize(
    ("expression", "body"),
    [
        ("{'a': [1, 2.5, None, True]}", b'{"a": [1, 2.5, null, true]}'),
        ("json.dumps({'a': 1})", b'"{\\"a\\": 1}"'),  # text comes back as JSON's text: scripts of 2018 know
        ("None", b"{}"),
        ("numpy.array([[1, 2]])", b"[[1, 2]]"),
        ("{'mean': numpy.float32(0.5)}", b'{"mean": 0.5}'),
        ("datetime.date(2020, 9, 1)", b'"2020-09-01"'),
        ("'grüße'", b'"gr\\u00fc\\u00dfe"'),
    ],
)
def test_what_run_gives_back(results: Deployed, expression: str, body: bytes) -> None:
    reply = results.post(expression)
    assert (reply.status, reply.body) == (200, body)


@pytest.fixture(scope="module")
def results(tmp_path_factory, scoring_home):
    from trainyard.contract.serving import ServicePlan

    folder = tmp_path_factory.mktemp("results")
    (folder / "score.py").write_text(RESULTS)
    deployed = Deployed(folder / "service", scoring_home, ServicePlan("results", 1, scorers=(scorer(folder),)))
    yield deployed.start().healthy()
    deployed.stop()


def test_what_run_cannot_give_back(results: Deployed) -> None:
    reply = results.post("b'123'")
    assert reply.status == 500
    assert reply.headers["x-ms-run-function-failed"] == "True"
    assert reply.json["message"] == (
        "TypeError: run() returned bytes, which JSON cannot hold. Return text, or AMLResponse(value, 200) from "
        "azureml.contrib.services.aml_response."
    )
    assert "returned a function" in results.post("init").json["message"]


def test_a_get_s_query_is_the_data(results: Deployed) -> None:
    assert results.get("/score?a=1&b=[1,2]&c=x&c=y").json == {"a": 1, "b": [1, 2], "c": ["x", "y"]}
    assert results.get("/score").json == {}


def test_text_that_is_not_utf_8_is_refused(results: Deployed) -> None:
    reply = results.post(b"\xff\xfe")
    assert reply.status == 400
    assert reply.json["message"].startswith("Input cannot be decoded as UTF-8: ")


def test_identities_of_a_request_come_back(results: Deployed) -> None:
    given = {"x_request_id": "r-1", "x_ms_client_request_id": "mine"}
    reply = results.post("1", **given)
    assert reply.headers["x-request-id"] == "r-1"
    assert reply.headers["x-ms-request-id"] == reply.headers["x-ms-client-request-id"] == "mine"
    assert len(results.post("1").headers["x-request-id"]) == 36
    reply = results.post("1", x_ms_request_id="x" * 101)
    assert (reply.status, reply.json["message"]) == (431, "x-ms-request-id must not exceed 100 characters")


RAW = """
import json

from azureml.contrib.services.aml_request import AMLRequest, rawhttp
from azureml.contrib.services.aml_response import AMLResponse

def init():
    pass

@rawhttp
def run(request):
    assert isinstance(request, AMLRequest)
    if request.method == "GET":
        return AMLResponse("you gave " + request.args.get("name", "nothing"), 200)
    if request.method == "OPTIONS":
        return AMLResponse("", 204, {"Allow": "GET,POST"})
    if request.mimetype == "multipart/form-data":
        upload = request.files["image"]
        return {"name": upload.filename, "size": len(upload.read()), "note": request.form["note"]}
    if request.path != "/score":
        return {"path": request.path}
    data = request.get_data()
    if request.headers.get("X-Fail"):
        return AMLResponse({"why": "as asked"}, 503, json_str=True)
    return AMLResponse(data[::-1], 201, {"Content-Type": "image/png", "X-Seen": request.headers["x-thing"]})
"""


def test_rawhttp(of_script: OfScript) -> None:
    deployed = of_script(RAW)
    reply = deployed.ask("POST", "/score", b"\x00\x01\xff", {"X-Thing": "seen"})
    assert (reply.status, reply.body) == (201, b"\xff\x01\x00")
    assert reply.headers["content-type"] == "image/png"
    assert reply.headers["x-seen"] == "seen"
    assert deployed.get("/score?name=ada&name=eve").body == b"you gave ada"
    assert deployed.ask("OPTIONS", "/score").status == 204
    failed = deployed.post("{}", x_fail="1")
    assert (failed.status, failed.json) == (503, {"why": "as asked"})
    assert failed.headers["x-ms-run-function-failed"] == "True"
    form = (
        b'--cut\r\nContent-Disposition: form-data; name="note"\r\n\r\nhello\r\n'
        b'--cut\r\nContent-Disposition: form-data; name="image"; filename="a.png"\r\nContent-Type: image/png\r\n\r\n'
        b"\x89PNG\r\n\x00\r\n--cut--\r\n"
    )
    reply = deployed.ask("POST", "/score", form, {"Content-Type": "multipart/form-data; boundary=cut"})
    assert reply.json == {"name": "a.png", "size": 7, "note": "hello"}


def test_request_headers_for_those_who_ask(of_script: OfScript) -> None:
    deployed = of_script("def init(): pass\ndef run(data, request_headers): return request_headers['X-Trace']\n")
    assert deployed.post("1", x_trace="abc").json == "abc"


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("def run(data): pass\n", "The scoring script 'score.py' has no function init()."),
        ("def init(): pass\ndef run(): pass\n", "run() takes no argument for the request's data."),
        ("def init(): raise KeyError('lost')\ndef run(data): pass\n", "KeyError: 'lost'"),
        ("import nowhere\ndef init(): pass\n", "ModuleNotFoundError: No module named 'nowhere'"),
        ("def init(: pass\n", "SyntaxError: invalid syntax"),
        ("import sys\nsys.exit('enough')\n", "The scoring code called sys.exit('enough')"),
        (
            "import os\nprint('bye')\nos._exit(7)\n",
            "The scoring process ended with exit code 7 before init() was over.",
        ),
        ("import os\nos.kill(os.getpid(), 11)\n", "ended with signal 11 (SIGSEGV) before init() was over."),
    ],
)
def test_a_script_that_cannot_start_says_why(written, service, script: str, said: str) -> None:
    deployed = service(scorer(written(script))).start()
    status = deployed.settled()
    assert status.state is ServiceState.FAILED
    assert status.error is not None
    assert status.error.startswith("Version 1 did not start: ")
    assert said in status.error
    reply = deployed.post("1")
    assert reply.status == 503
    assert said in reply.json["message"]


def test_the_traceback_of_init_is_the_user_s_part(written, service) -> None:
    script = "def deep():\n    raise ValueError('no weights')\ndef init():\n    deep()\ndef run(data): pass\n"
    status = service(scorer(written(script))).start().settled()
    assert status.error is not None
    lines = status.error.splitlines()
    assert lines[0] == "Version 1 did not start: ValueError: no weights"
    assert "score.py" in lines[2]
    assert lines[-1] == "ValueError: no weights"
    assert "trainyard" not in status.error


def test_a_missing_script_and_a_missing_interpreter(tmp_path: Path, service) -> None:
    status = service(scorer(tmp_path, entry_script="other.py"), name="script").start().settled()
    assert status.error == (
        "Version 1 did not start: There is no scoring script 'other.py' in the deployed source folder."
    )
    status = service(scorer(tmp_path, interpreter="/nowhere/python"), name="python").start().settled()
    assert status.error == (
        "Version 1 did not start: The interpreter /nowhere/python cannot be started: No such file or directory."
    )


def test_a_run_that_raises_is_answered_and_logged(of_script: OfScript) -> None:
    deployed = of_script("def init(): pass\ndef run(data): return 1 / int(data)\n")
    reply = deployed.post("0")
    assert (reply.status, reply.json) == (500, {"message": "ZeroDivisionError: division by zero"})
    assert reply.headers["x-ms-run-function-failed"] == "True"
    assert "in run\n    def run(data): return 1 / int(data)" in deployed.log()
    assert deployed.post("4").json == 0.25


def test_several_models_and_variables(written, service, tmp_path: Path) -> None:
    source = written(
        """
        import os
        def init(): pass
        def run(data):
            names = ["AZUREML_MODEL_DIR", "SERVICE_NAME", "AZUREML_ENTRY_SCRIPT", "AML_APP_ROOT", "LEVEL"]
            found = {name: os.environ[name] for name in names}
            found["models"] = sorted(os.listdir(found["AZUREML_MODEL_DIR"]))
            return found
        """
    )
    for model in ("first/1", "second/4"):
        (tmp_path / "azureml-models" / model).mkdir(parents=True)
    deployed = service(scorer(source, models=tmp_path / "azureml-models", variables={"LEVEL": "3"})).start().healthy()
    assert deployed.post("").json == {
        "AZUREML_MODEL_DIR": str(tmp_path / "azureml-models"),
        "SERVICE_NAME": "echo",
        "AZUREML_ENTRY_SCRIPT": "score.py",
        "AML_APP_ROOT": str(source),
        "LEVEL": "3",
        "models": ["first", "second"],
    }


def test_nothing_of_the_token_reaches_the_scoring_code(written, service) -> None:
    source = written("import os\ndef init(): pass\ndef run(data): return os.environ.get('TRAINYARD_TOKEN')\n")
    deployed = service(scorer(source)).start(TRAINYARD_TOKEN="hush").healthy()
    assert deployed.post("").json == {}
    assert "hush" not in json.dumps(deployed.log())
