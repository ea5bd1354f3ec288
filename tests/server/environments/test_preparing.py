"""The Preparing step, with real builders and wheels made by hand."""

from __future__ import annotations

import os
import signal
import threading
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from trainyard.contract.environments import LOCK_FILE
from trainyard.contract.logs import IMAGE_BUILD
from trainyard.environments.store import Store
from trainyard.server.context import Context
from trainyard.server.preparing import Preparing, Waiting
from trainyard.server.runs.records import RunRow, run_row


@pytest.fixture
def wheels(tmp_path: Path) -> Path:
    folder = tmp_path / "wheels"
    folder.mkdir()
    for version in ("1.0", "2.0"):
        with zipfile.ZipFile(folder / f"apple-{version}-py3-none-any.whl", "w") as archive:
            archive.writestr("apple.py", "")
            said = f"Metadata-Version: 2.1\nName: apple\nVersion: {version}\n"
            archive.writestr(f"apple-{version}.dist-info/METADATA", said)
            archive.writestr(f"apple-{version}.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
            archive.writestr(f"apple-{version}.dist-info/RECORD", "")
    return folder


class Bench:
    """One service's Preparing, driven by hand."""

    def __init__(self, context: Context, call: Callable[..., Any], wheels: Path) -> None:
        self.context, self.call, self.wheels = context, call, wheels
        self.workspace = call("POST", "/api/v1/workspaces", {"name": "yard"}).json["id"]
        self.path = f"/api/v1/workspaces/{self.workspace}/runs"
        self.preparing = Preparing(context)
        self.store = Store(context.settings.home)

    def submit(self, run_id: str, *packages: str, relax: bool = False) -> None:
        here = () if packages[0].startswith("--index-url") else ("--no-index", f"--find-links {self.wheels}")
        pip = [*here, *packages]
        definition = {"python": {"condaDependencies": {"dependencies": [{"pip": pip}]}}}
        spec = {"script": "train.py", "relax_pins": relax, "environment": {"name": "e", "definition": definition}}
        answer = self.call("POST", self.path, {"experiment": "first", "run_id": run_id, "spec": spec})
        assert answer.status == 200, answer.body

    def look(self, run_id: str) -> RunRow:
        """What the reconciler does with a run that is due."""
        outcome = self.preparing.look(self.row(run_id))
        with self.context.db.write() as tx:
            self.preparing.apply(tx, run_row(tx, self.workspace, run_id), outcome)
        return self.row(run_id)

    def until(self, run_id: str, state: str) -> RunRow:
        pause = threading.Event()
        for _ in range(2000):
            self.preparing.pump()
            row = self.look(run_id) if not self.preparing.busy else self.row(run_id)
            if row.state == state:
                return row
            assert row.state in ("NotStarted", "Preparing"), row.reason
            pause.wait(0.01)
        raise AssertionError(f"{run_id} did not become {state}")

    def row(self, run_id: str) -> RunRow:
        with self.context.db.read() as tx:
            return run_row(tx, self.workspace, run_id)

    def log(self, run_id: str) -> str:
        return self.context.logs.read(self.row(run_id).key, IMAGE_BUILD, 0, 1 << 20).decode()


@pytest.fixture
def bench(context: Context, call: Callable[..., Any], wheels: Path) -> Iterator[Bench]:
    bench = Bench(context, call, wheels)
    yield bench
    for build in bench.preparing._builds.values():
        build.builder.stop()


def test_a_run_waits_for_its_environment_and_the_next_one_does_not(bench: Bench) -> None:
    bench.submit("r1", "apple<2", "azureml-defaults")
    assert (row := bench.look("r1")).state == "Preparing", row.reason
    row = bench.until("r1", "Queued")
    assert row.spec is not None
    environment = row.spec["environment"]
    assert bench.log("r1").startswith(f"Building environment e ({environment['fingerprint']}).\n")
    assert "apple==1.0" in bench.log("r1")
    lock = bench.context.blobs.read(environment["lock"]).decode()
    assert "apple==1.0 \\\n    --hash=sha256:" in lock
    files = bench.call("GET", f"{bench.path}/r1/files").json
    assert [file["digest"] for file in files if file["name"] == LOCK_FILE] == [environment["lock"]]
    assert bench.store.find(environment["fingerprint"]) is not None

    bench.submit("r2", "azureml-defaults", "apple<2")
    row = bench.look("r2")
    assert row.state == "Queued"
    assert row.spec is not None
    assert row.spec["environment"]["fingerprint"] == environment["fingerprint"]
    assert bench.log("r2") == ""


def test_many_runs_share_one_build_and_each_has_its_log(bench: Bench) -> None:
    for number in range(5):
        bench.submit(f"r{number}", "apple")
        assert bench.look(f"r{number}").state == "Preparing"
    assert len(bench.preparing._builds) == 1
    for number in range(5):
        bench.until(f"r{number}", "Queued")
    assert {bench.log(f"r{number}") for number in range(5)} == {bench.log("r0")}
    assert bench.log("r0").count("Building environment") == 1


def test_a_failed_build_is_the_runs_end_with_the_solvers_sentence(bench: Bench) -> None:
    bench.submit("r1", "apple==7")
    bench.look("r1")
    row = bench.until("r1", "Failed")
    assert row.error is not None
    assert row.error["code"] == "EnvironmentRefused"
    assert "apple==7 (the nearest there is: apple==2.0)" in row.error["message"]
    assert row.error["message"] in bench.log("r1")
    bench.submit("r2", "apple==7", relax=True)
    bench.look("r2")
    row = bench.until("r2", "Queued")
    assert [line.partition(": ")[2] for line in row.warnings] == ["apple==2.0 was installed instead."]


def test_what_makes_no_sense_fails_at_once(bench: Bench) -> None:
    bench.submit("r1", "apple && reboot")
    row = bench.look("r1")
    assert row.state == "Failed"
    assert "'apple && reboot' is not a pip requirement" in row.reason


def test_a_canceled_run_ends_the_builder_that_nobody_else_waits_for(bench: Bench, silent: str) -> None:
    for name in ("r1", "r2"):
        bench.submit(name, f"--index-url {silent}", "pear==1")
        bench.look(name)
    (build,) = bench.preparing._builds.values()
    assert build.builder.process is not None
    bench.call("POST", f"{bench.path}/r1/cancel")
    bench.preparing.pump()
    assert build.builder.process.poll() is None
    bench.call("POST", f"{bench.path}/r2/cancel")
    bench.preparing.pump()
    assert build.builder.process.poll() is not None
    assert not bench.preparing.busy
    assert bench.row("r2").state == "Canceled"


def test_a_service_that_comes_back_finds_the_builder_at_work(bench: Bench, silent: str) -> None:
    bench.submit("r1", f"--index-url {silent}", "pear==1")
    bench.look("r1")
    (first,) = bench.preparing._builds.values()
    key = first.builder.request.key
    pause = threading.Event()
    while bench.store.builder(key) is None:
        pause.wait(0.01)
    bench.preparing = Preparing(bench.context)  # the service was killed and started again
    assert bench.preparing.look(bench.row("r1")) == Waiting(key)
    (again,) = bench.preparing._builds.values()
    assert again.builder.process is None
    bench.preparing.pump()
    assert bench.log("r1").startswith("Building environment")
    bench.call("POST", f"{bench.path}/r1/cancel")
    bench.preparing.pump()
    assert first.builder.process is not None
    first.builder.process.wait(10)


def test_a_builder_that_is_killed_is_started_again(bench: Bench) -> None:
    bench.submit("r1", "apple")
    bench.look("r1")
    (build,) = bench.preparing._builds.values()
    assert build.builder.process is not None
    os.kill(build.builder.process.pid, signal.SIGKILL)
    build.builder.process.wait()
    assert bench.until("r1", "Queued").reason.startswith("Waiting for 1 node")
    assert build.builder.starts == 2


def test_a_build_without_a_run(bench: Bench) -> None:
    path = f"/api/v1/workspaces/{bench.workspace}/environment-builds"
    pip = ["--no-index", f"--find-links {bench.wheels}", "apple"]
    definition = {"name": "mine", "python": {"condaDependencies": {"dependencies": [{"pip": pip}]}}}
    asked = bench.call("POST", path, {"definition": definition}).json
    bad = bench.call(
        "POST", path, {"definition": {**definition, "python": {"condaDependencies": {"dependencies": ["python=2.1"]}}}}
    )
    pause = threading.Event()
    for _ in range(2000):
        bench.preparing.pump()
        record = bench.call("GET", f"{path}/{asked['build_id']}").json
        if record["state"] != "Running":
            break
        pause.wait(0.01)
    assert (record["state"], record["reason"]) == ("Succeeded", "Built")
    assert "apple==2.0" in bench.context.blobs.read(record["lock"]).decode()
    log = bench.call("GET", f"{path}/{asked['build_id']}/log").body.decode()
    assert log.startswith(f"Building environment mine ({record['fingerprint']}).")
    refused = bench.call("GET", f"{path}/{bad.json['build_id']}").json
    assert refused["state"] == "Failed"
    assert "No Python that is ==2.1.*" in refused["reason"]
