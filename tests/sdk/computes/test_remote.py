"""RemoteCompute over a real SSH server on loopback: attach, run, look at what came back, detach."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from secure_shell import SSHD, Server, server

from trainyard.sdk.computes.compute import ComputeTarget
from trainyard.sdk.computes.instance import ComputeInstance
from trainyard.sdk.computes.remote import DsvmCompute, RemoteCompute
from trainyard.sdk.environments.environment import Environment
from trainyard.sdk.errors import ComputeTargetException
from trainyard.sdk.experiment import Experiment
from trainyard.sdk.submitting.script_run_config import ScriptRunConfig
from trainyard.sdk.workspace import Workspace

pytestmark = pytest.mark.skipif(SSHD is None or shutil.which("ssh") is None, reason="OpenSSH is not installed")

SCRIPT = """\
import os, socket, sys
from azureml.core import Run
run = Run.get_context()
run.log('answer', 42)
os.makedirs('outputs', exist_ok=True)
open('outputs/where.txt', 'w').write(os.environ['HOME'] + ' ' + os.getcwd())
print('argument', sys.argv[1])
"""


@pytest.fixture(scope="module")
def sshd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with server(tmp_path_factory.mktemp("sshd")) as running:
        yield running


@pytest.fixture(scope="module")
def workspace(home: object) -> Workspace:
    return Workspace.create("yard", exist_ok=True, show_output=False)


def configuration(sshd: Server, **changed: object) -> object:
    given = {
        "username": sshd.username,
        "address": sshd.address,
        "ssh_port": sshd.port,
        "private_key_file": str(sshd.folder / "user_key"),
        **changed,
    }
    return RemoteCompute.attach_configuration(**given)  # type: ignore[arg-type]


def test_a_run_on_an_attached_machine(workspace: Workspace, sshd: Server, tmp_path: Path) -> None:
    target = ComputeTarget.attach(workspace, "vm", configuration(sshd))
    assert type(target) is RemoteCompute
    assert (target.provisioning_state, target.address, target.ssh_port) == ("Succeeded", "127.0.0.1", sshd.port)
    target.wait_for_completion(show_output=True)

    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "train.py").write_text(SCRIPT)
    environment = Environment("mine")
    environment.python.user_managed_dependencies = True
    environment.python.interpreter_path = sys.executable
    config = ScriptRunConfig(str(tmp_path / "code"), "train.py", ["x"], compute_target=target, environment=environment)
    run = Experiment(workspace, "remote").submit(config)
    details = run.wait_for_completion(show_output=True)

    assert details["status"] == "Completed"
    assert run.get_metrics() == {"answer": 42}
    run.download_file("outputs/where.txt", str(tmp_path / "where.txt"))
    home, working = (tmp_path / "where.txt").read_text().split()
    assert home == str(Path.home())
    assert working.startswith(str(Path.home() / ".trainyard-remote"))
    assert "PRIVATE KEY" not in repr(target.serialize())

    with pytest.raises(ComputeTargetException, match="already"):
        ComputeTarget.attach(workspace, "vm", configuration(sshd))
    target.detach()  # type: ignore[attr-defined]
    with pytest.raises(ComputeTargetException):
        RemoteCompute(workspace, "vm")


def test_what_is_wrong_with_a_machine_is_told_when_it_is_attached(workspace: Workspace, sshd: Server) -> None:
    with pytest.raises(ComputeTargetException, match="does not answer over SSH"):
        ComputeTarget.attach(workspace, "vm", configuration(sshd, ssh_port=1))
    with pytest.raises(ComputeTargetException, match="refuses to let nobody-at-all in"):
        ComputeTarget.attach(workspace, "vm", configuration(sshd, username="nobody-at-all"))
    with pytest.raises(ComputeTargetException, match="is no username"):
        ComputeTarget.attach(workspace, "vm", configuration(sshd, username="-oProxyCommand=x"))
    assert ComputeTarget.list(workspace) == []


def test_a_dsvm_is_a_node_here(workspace: Workspace) -> None:
    target = DsvmCompute.create(workspace, "dsvm", DsvmCompute.provisioning_configuration(vm_size="Standard_D2_v2"))
    assert type(target) is DsvmCompute
    target.wait_for_completion(show_output=True)
    assert target.get_status() == "Succeeded"
    target.delete()


def test_what_is_no_configuration() -> None:
    with pytest.raises(ComputeTargetException, match="give address='host or IP address'"):
        RemoteCompute.attach_configuration("me", resource_id="/subscriptions/x")
    with pytest.raises(ComputeTargetException, match="cannot be read"):
        RemoteCompute.attach_configuration("me", address="host", private_key_file="/nowhere/key")


def test_a_compute_instance_is_a_node_that_is_stopped_and_started(workspace: Workspace, tmp_path: Path) -> None:
    made = ComputeTarget.create(
        workspace, "mine", ComputeInstance.provisioning_configuration(vm_size="Standard_D2_v2", ssh_public_access=False)
    )
    assert type(made) is ComputeInstance
    made.wait_for_completion(show_output=True)
    assert (made.get_status().state, made.vm_size.upper()) == ("Running", "STANDARD_D2_V2")

    (tmp_path / "train.py").write_text("print('hello')")
    config = ScriptRunConfig(str(tmp_path), "train.py", compute_target=made)
    run = Experiment(workspace, "on-mine").submit(config)
    assert [it.id for it in made.get_active_runs()] in ([run.id], [])  # it may have ended meanwhile
    run.wait_for_completion()
    assert run.get_details()["target"] == "mine"

    made.stop(wait_for_completion=True, show_output=True)
    assert ComputeInstance(workspace, "mine").get_status().state == "Stopped"
    made.restart(wait_for_completion=True)
    assert made.status.serialize()["state"] == "Running"
    made.delete(wait_for_completion=True)
    with pytest.raises(ComputeTargetException, match="mine"):
        ComputeInstance(workspace, "mine")
