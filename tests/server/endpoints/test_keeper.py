"""The keeper with real rows and a stand-in for the front program: what it starts, tells and ends."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from trainyard.blobs.bundle import bundle_path
from trainyard.contract.endpoints import CodeSpec, NewService, OperationState, ServiceChange, ServiceKind, VersionSpec
from trainyard.contract.runs import EnvironmentSpec
from trainyard.contract.serving import ServiceState
from trainyard.server.context import Context
from trainyard.server.endpoints import fronts, service
from trainyard.server.endpoints.keeper import Keeper, end_all
from trainyard.server.workspaces.service import NewWorkspace, create_workspace

# Says of every plan that it is served, or what the service's name asks it to say.
FRONT = """\
import json, os, signal, sys, time
folder = sys.argv[1]
def tell(*_):
    plan = json.load(open(os.path.join(folder, "plan.json")))
    failing = plan["name"] == "fails"
    if plan["name"] == "refuses":
        status = {"state": "Failed", "scorers": [], "error": "no port"}
    else:
        state = "Failed" if failing else "Healthy"
        said = [{"version": it["version"], "state": state, "workers": 1, "error": "why"} for it in plan["scorers"]]
        status = {"state": state, "scorers": said}
    status |= {"name": plan["name"], "generation": plan["generation"], "pid": os.getpid(), "url": "http://127.0.0.1:9"}
    with open(os.path.join(folder, "status.new"), "w") as file:
        json.dump(status, file)
    os.replace(os.path.join(folder, "status.new"), os.path.join(folder, "status.json"))
    if plan["name"] == "refuses":
        sys.exit(1)
signal.signal(signal.SIGHUP, tell)
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
tell()
while True:
    time.sleep(60)
"""


@pytest.fixture
def keeper(context: Context, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Keeper]:
    (tmp_path / "stand_in_front.py").write_text(FRONT)
    monkeypatch.setattr(fronts, "PROGRAM", "stand_in_front")
    object.__setattr__(context.settings, "variables", {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(tmp_path)})
    made = Keeper(context)
    made.start()
    yield made
    made.stop()
    end_all(context)


@pytest.fixture
def workspace_id(context: Context) -> str:
    with context.db.write() as tx:
        return create_workspace(tx, NewWorkspace("yard", "", "", ""), "ada", 1).id


def spec(context: Context, tmp_path: Path, text: str = "1") -> VersionSpec:
    script = tmp_path / "score.py"
    script.write_text(f"def init(): pass\ndef run(data): return {text}\n")
    code = bundle_path(context.blobs, str(script))
    environment = EnvironmentSpec(user_managed=True, interpreter=sys.executable)
    return VersionSpec(code=CodeSpec(code, "score.py", environment))


def deploy(context: Context, workspace_id: str, tmp_path: Path, name: str) -> None:
    with context.db.write() as tx:
        new = NewService(name, ServiceKind.ACI, spec(context, tmp_path), request_id=name)
        service.create(context, tx, workspace_id, "ada", new)
    context.wake_services.set()


def until(context: Context, workspace_id: str, name: str, true: Callable[..., bool]):
    ends = time.monotonic() + 30
    while time.monotonic() < ends:
        with context.db.read() as tx:
            record = service.get(context, tx, workspace_id, name)
        if true(record):
            return record
        time.sleep(0.01)
    raise AssertionError(record)


def over(record) -> bool:
    return record.operation is not OperationState.RUNNING


def test_a_wish_becomes_a_front(context: Context, keeper: Keeper, workspace_id: str, tmp_path: Path) -> None:
    deploy(context, workspace_id, tmp_path, "first")
    record = until(context, workspace_id, "first", over)
    assert (record.state, record.operation, record.url) == (
        ServiceState.HEALTHY,
        OperationState.SUCCEEDED,
        "http://127.0.0.1:9",
    )
    front = keeper.front(record.id)
    plan = front.plan()
    assert plan is not None
    [scorer] = plan.scorers
    assert (scorer.version, scorer.entry_script, scorer.interpreter) == ("1", "score.py", sys.executable)
    assert (Path(scorer.source or "") / "score.py").read_text().startswith("def init")
    first = front.pid()
    with context.db.write() as tx:
        change = ServiceChange(version=spec(context, tmp_path, "2"))
        service.change(context, tx, workspace_id, "ada", "first", change)
    context.wake_services.set()
    record = until(context, workspace_id, "first", lambda it: over(it) and it.versions[0].revision == 2)
    assert (record.operation, [it.version for it in front.plan().scorers]) == (OperationState.SUCCEEDED, ["2"])
    assert front.pid() == first  # told of the new plan, not started again


def test_a_look_that_is_overtaken_makes_nothing_twice(
    context: Context, keeper: Keeper, workspace_id: str, tmp_path: Path
) -> None:
    names = [f"svc-{number}" for number in range(8)]
    for name in names:
        deploy(context, workspace_id, tmp_path, name)
    for name in names:
        record = until(context, workspace_id, name, over)
        log = Path(keeper.front(record.id).folder, "service.log").read_text()
        assert log.count("is user-managed") == 1


@pytest.mark.parametrize(("name", "why"), [("fails", "why"), ("refuses", "no port")])
def test_a_front_that_cannot_serve_says_why(
    context: Context, keeper: Keeper, workspace_id: str, tmp_path: Path, name: str, why: str
) -> None:
    deploy(context, workspace_id, tmp_path, name)
    record = until(context, workspace_id, name, over)
    assert (record.state, record.operation, record.error) == (ServiceState.FAILED, OperationState.FAILED, why)
    ends = time.monotonic() + 20
    while keeper.front(record.id).alive():
        assert time.monotonic() < ends
        time.sleep(0.01)


def test_the_next_keeper_finds_the_front(context: Context, keeper: Keeper, workspace_id: str, tmp_path: Path) -> None:
    deploy(context, workspace_id, tmp_path, "stays")
    record = until(context, workspace_id, "stays", over)
    pid = keeper.front(record.id).pid()
    keeper.stop()
    following = Keeper(context)
    following.start()
    try:
        threading.Event().wait(0.1)
        assert following.front(record.id).pid() == pid
        with context.db.write() as tx:
            service.delete_service(context, tx, workspace_id, "stays")
        context.wake_services.set()
        ends = time.monotonic() + 20
        while (tmp_path / "services" / record.id).exists():
            assert time.monotonic() < ends
            time.sleep(0.01)
        assert not following.front(record.id).alive()
    finally:
        following.stop()


def test_an_environment_that_cannot_be_made_fails_the_deployment(
    context: Context, keeper: Keeper, workspace_id: str, tmp_path: Path
) -> None:
    wrong = spec(context, tmp_path)
    assert wrong.code is not None
    object.__setattr__(wrong.code.environment, "interpreter", "/no/such/python")
    with context.db.write() as tx:
        service.create(context, tx, workspace_id, "ada", NewService("no-python", ServiceKind.ACI, wrong, "r"))
    context.wake_services.set()
    record = until(context, workspace_id, "no-python", over)
    assert record.operation is OperationState.FAILED
    assert "The environment's interpreter /no/such/python does not exist" in str(record.error)
