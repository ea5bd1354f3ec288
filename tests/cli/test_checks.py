"""Each check on a home that is well and on one that is not."""

import fcntl
import json
import os
import socket

import pytest

from trainyard.cli import checks
from trainyard.cli.checks import Level
from trainyard.cli.main import execute
from trainyard.sdk.service import Home, Yard


@pytest.fixture
def home(tmp_path):
    path = tmp_path / "home"
    path.mkdir(mode=0o700)
    return Home(str(path))


def test_a_home_that_is_not_there_yet_is_fine(tmp_path):
    check = checks.folder(Home(str(tmp_path / "not" / "yet")))
    assert (check.level, check.found) == (Level.OK, f"{tmp_path}/not/yet (is made on first use)")


def test_a_home_that_others_can_read(home):
    os.chmod(home.path, 0o755)
    check = checks.folder(home)
    assert (check.level, check.mend) == (Level.WARN, f"chmod 700 {home.path}")


def test_a_home_below_a_file_cannot_be(tmp_path):
    (tmp_path / "file").write_text("")
    check = checks.folder(Home(str(tmp_path / "file" / "home")))
    assert check.level is Level.FAIL


def test_a_token_that_others_can_read(home):
    with open(home.file("token"), "w") as file:
        file.write("secret")
    os.chmod(home.file("token"), 0o644)
    check = checks.token(home)
    assert check.level is Level.FAIL
    assert check.mend == f"chmod 600 {home.file('token')}"
    assert "secret" not in check.found


def test_a_database_that_is_none(home):
    assert checks.database(home).level is Level.OK
    with open(home.file("trainyard.db"), "w") as file:
        file.write("garbage" * 100)
    check = checks.database(home)
    assert check.level is Level.FAIL
    assert "trainyard.db cannot be read: file is not a database" in check.found


def test_a_lock_without_an_address_is_a_service_on_its_way(home):
    assert checks.service(home).level is Level.OK
    with open(home.file("server.lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert checks.service(home).level is Level.WARN


def test_a_foreign_program_on_the_services_port(home):
    with socket.create_server(("127.0.0.1", 0)) as foreign:
        number = foreign.getsockname()[1]
        with open(home.file("port"), "w") as file:
            file.write(str(number))
        check = checks.port(home)
    assert (check.level, check.found) == (Level.WARN, f"{number} is used by another program")
    assert checks.port(home).found == f"{number} is free for the service"


def test_the_last_error_of_the_service_log_is_shown(home):
    assert checks.log(home).found == "none yet"
    with open(home.file("service.log"), "w") as file:
        file.write("INFO started\nERROR the disk is gone\nINFO going on\n")
    assert checks.log(home).found == "last trouble: ERROR the disk is gone"


def test_a_service_of_another_version(home):
    said = {"pid": os.getpid(), "url": "http://127.0.0.1:1", "version": "0.9.0", "python": ""}
    with open(home.file("server.json"), "w") as file:
        json.dump(said, file)
    with open(home.file("server.lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert checks.version(home).level is Level.FAIL


def test_microsofts_own_package_in_the_environment(tmp_path, monkeypatch):
    (tmp_path / "azureml_core-1.60.0.dist-info").mkdir()
    monkeypatch.syspath_prepend(str(tmp_path))
    check = checks.foreign_azureml()
    assert check.level is Level.FAIL
    assert "pip uninstall -y azureml-core" in check.mend


def test_an_endpoint_without_a_token():
    variables = {"TRAINYARD_ENDPOINT": "http://team:8500"}
    found = {check.name: check for check in checks.examine(Yard.from_env(variables), variables)}
    assert found["endpoint"].level is Level.FAIL
    assert "home" not in found


def test_the_doctor_exits_with_1_when_something_must_be_mended(home, monkeypatch, capsys):
    monkeypatch.setenv("TRAINYARD_HOME", home.path)
    monkeypatch.delenv("TRAINYARD_ENDPOINT", raising=False)
    assert execute(["doctor", "--json"]) == 0
    assert {line["level"] for line in json.loads(capsys.readouterr().out)} <= {"ok", "warn"}
    with open(home.file("token"), "w") as file:
        file.write("secret")
    os.chmod(home.file("token"), 0o666)
    assert execute(["doctor"]) == 1
    assert "chmod 600" in capsys.readouterr().out
