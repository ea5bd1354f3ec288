"""`trainyard models`, `deploy` and `services` against a real service in a scratch home."""

import json
import subprocess
import sys

import pytest

SCORE = "import os\ndef init():\n    print('ready')\ndef run(data):\n    return {'got': data}\n"


@pytest.fixture(autouse=True)
def here(scratch, tmp_path, monkeypatch):
    monkeypatch.setenv("TRAINYARD_HOME", scratch["TRAINYARD_HOME"])
    monkeypatch.delenv("TRAINYARD_ENDPOINT", raising=False)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.bin").write_bytes(b"weights")
    (tmp_path / "score.py").write_text(SCORE)
    return tmp_path


def trainyard(*arguments):
    """The program as a shell runs it."""
    command = [sys.executable, "-m", "trainyard.cli.main", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=90)


def said(*arguments):
    """What a command that must work printed."""
    done = trainyard(*arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_from_a_file_to_an_answer_that_outlives_the_service(here):
    assert "net:1 is registered." in said("models", "register", "net", "model.bin", "--tag", "a=b", "--alias", "best")
    [model] = json.loads(said("models", "list", "--tag", "a=b", "--json"))
    assert (model["id"], model["aliases"], model["tags"]) == ("net:1", ["best"], {"a": "b"})
    assert "echo answers at http://127.0.0.1:" in said("deploy", "echo", "net@best", "--script", "score.py")
    assert json.loads(said("services", "test", "echo", '{"x": 1}')) == {"got": '{"x": 1}'}
    assert said("services", "test", "echo") == "Healthy\n"
    [service] = json.loads(said("services", "list", "--json"))
    assert (service["name"], service["state"], service["models"]) == ("echo", "Healthy", ["net:1"])
    shown = json.loads(said("models", "show", "net", "--json"))
    assert (shown["files"], shown["services"]) == (["model.bin"], ["echo"])
    assert "ready" in said("services", "logs", "echo", "-n", "50")
    refused = trainyard("models", "delete", "net:1")
    assert refused.returncode == 1
    assert "is deployed in echo" in refused.stderr
    stopping_says_what_happens_to_services()


def stopping_says_what_happens_to_services():
    done = trainyard("stop")
    assert done.returncode == 0, done.stderr
    assert "1 deployed service(s) go on answering" in done.stderr
    assert json.loads(said("services", "test", "echo", "[]")) == {"got": "[]"}
    assert "deployed service(s)" not in trainyard("stop", "--all").stderr
    [service] = json.loads(said("services", "list", "--json"))  # still deployed, and brought back
    assert service["name"] == "echo"
    assert said("services", "delete", "echo") == "echo is gone.\n"
    assert said("models", "delete", "net:1") == "net:1 is gone.\n"


def test_what_is_wrong_is_said(here):
    for arguments, word in (
        (["deploy", "Not_A_Name", "net"], "net"),
        (["services", "show", "nobody"], "WebserviceNotFound"),
        (["models", "show", "nobody"], "ModelNotFound"),
        (["models", "delete", "net"], "Which version of net?"),
        (["deploy", "echo", "echo", "--script", "score.py", "--environment", "nobody"], "No environment named"),
        (["models", "register", "a/b", "model.bin"], "cannot be the name of a model"),
    ):
        done = trainyard(*arguments)
        assert done.returncode == 1, arguments
        assert word in done.stderr
        assert "Traceback" not in done.stderr
