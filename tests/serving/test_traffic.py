"""Versions and their shares, batches, processes as the load needs them, and the counts of all that."""

from __future__ import annotations

import dataclasses
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from deployed import Deployed, scorer

OfScript = Callable[..., Deployed]

SAYS = "def init(): pass\ndef run(data):\n    print('{0} got', data)\n    return '{0}'\n"


def metric(deployed: Deployed, start: str) -> float:
    text = deployed.get("/metrics").body.decode()
    (line,) = [line for line in text.splitlines() if line.startswith(start)]
    return float(line.rpartition(" ")[2])


def test_shares_of_traffic_a_named_version_and_a_mirror(written, service) -> None:
    versions = [
        scorer(written(SAYS.format("a"), "a"), "a", traffic=75),
        scorer(written(SAYS.format("b"), "b"), "b", traffic=25),
        scorer(written(SAYS.format("c"), "c"), "c", traffic=0, mirror=50),
    ]
    deployed = service(*versions).start().healthy()
    replies = [deployed.post(f"n{number}") for number in range(40)]
    assert Counter(reply.json for reply in replies) == {"a": 30, "b": 10}
    assert {reply.headers["azureml-model-deployment"] for reply in replies} == {"a", "b"}
    assert deployed.post("asked", azureml_model_deployment="c").json == "c"
    reply = deployed.post("named", azureml_model_deployment="d")
    assert (reply.status, reply.json) == (404, {"message": "This service has no version 'd' (it has: a, b, c)."})
    deployed.until_logged("c got n39")
    assert deployed.log().count("c got n") == 20  # every second request, answered by another
    assert metric(deployed, 'trainyard_requests_total{service="echo",version="a",code="200"}') == 30
    assert metric(deployed, 'trainyard_mirrored_requests_total{service="echo",version="c",code="200"}') == 20


def test_new_shares_start_no_process(written, service) -> None:
    versions = [scorer(written(SAYS.format(name), name), name, traffic=50) for name in "ab"]
    deployed = service(*versions).start().healthy()
    before = {worker.pid for worker in deployed.workers()}
    shifted = (dataclasses.replace(versions[0], traffic=0), dataclasses.replace(versions[1], traffic=100))
    deployed.replan(dataclasses.replace(deployed.plan, generation=2, scorers=shifted))
    deployed.healthy()
    assert {deployed.post("x").json for _ in range(10)} == {"b"}
    assert {worker.pid for worker in deployed.workers()} == before
    only = (shifted[1],)
    deployed.replan(dataclasses.replace(deployed.plan, generation=3, scorers=only))
    deployed.healthy()
    deployed.until_workers(1)
    assert deployed.post("x").json == "b"


def test_a_new_revision_of_the_same_folders_starts_new_processes(written, service) -> None:
    source = written(SAYS.format("old"))
    one = scorer(source)
    deployed = service(one).start().healthy()
    (source / "score.py").write_text(SAYS.format("new"))
    deployed.replan(dataclasses.replace(deployed.plan, generation=2, scorers=(dataclasses.replace(one, revision=1),)))
    deployed.healthy()
    assert deployed.post("x").json == "new"


def test_processes_work_side_by_side(of_script: OfScript) -> None:
    script = "import os, time\ndef init(): pass\ndef run(data):\n    time.sleep(0.3)\n    return os.getpid()\n"
    deployed = of_script(script, workers=3)
    began = time.monotonic()
    with ThreadPoolExecutor(3) as pool:
        pids = {reply.json for reply in pool.map(deployed.post, ["1", "2", "3"])}
    assert len(pids) == 3
    assert time.monotonic() - began < 0.9  # one after the other it would be


def test_one_process_may_take_several_requests(of_script: OfScript) -> None:
    script = """
    import os, threading
    together = threading.Barrier(3)
    def init(): pass
    def run(data):
        together.wait(20)  # nobody passes alone
        return os.getpid()
    """
    deployed = of_script(script, threads=3)
    with ThreadPoolExecutor(3) as pool:
        replies = list(pool.map(deployed.post, ["1", "2", "3"]))
    assert {reply.status for reply in replies} == {200}
    assert len({reply.json for reply in replies}) == 1


def test_more_processes_under_load(of_script: OfScript) -> None:
    script = "import time\ndef init(): pass\ndef run(data): time.sleep(0.05)\n"
    deployed = of_script(script, workers=1, most_workers=3)
    with ThreadPoolExecutor(6) as pool:
        asked = [pool.submit(deployed.post, "") for _ in range(100)]
        deployed.until(lambda it: it.scorers[0].workers == 3)
        assert {one.result().status for one in asked} == {200}
    assert len(deployed.workers()) == 3


def test_the_load_that_is_wanted_of_each_process(of_script: OfScript) -> None:
    """Two requests at once are half of what two processes of two slots can take: enough for one that may be full."""
    script = "import time\ndef init(): pass\ndef run(data): time.sleep(0.05)\n"
    deployed = of_script(script, workers=1, most_workers=3, threads=2, target=1.0)
    with ThreadPoolExecutor(2) as pool:
        assert {one.result().status for one in [pool.submit(deployed.post, "") for _ in range(60)]} == {200}
        assert len(deployed.workers()) == 1
        deployed.replan(
            dataclasses.replace(
                deployed.plan, generation=2, scorers=(dataclasses.replace(deployed.plan.scorers[0], target=0.5),)
            )
        )
        asked = [pool.submit(deployed.post, "") for _ in range(100)]
        deployed.until(lambda it: it.scorers[0].workers == 2)
        assert {one.result().status for one in asked} == {200}


@pytest.fixture
def rows(service, tmp_path, scoring_home) -> Callable[..., Deployed]:
    """A scikit-learn model without its framework: anything with predict() is one."""
    import pickle
    import sys

    folder = tmp_path / "rows"
    folder.mkdir()
    (folder / "slow_rows.py").write_text(
        "import time\n"
        "class Model:\n"
        "    def predict(self, rows):\n"
        "        time.sleep(0.02)\n"
        "        assert not (rows == 0.5).any(), 'half a row'\n"
        "        return rows.sum(axis=1)\n"
    )
    sys.path.insert(0, str(folder))
    try:
        import slow_rows  # type: ignore[import-not-found]

        (folder / "model.pkl").write_bytes(pickle.dumps(slow_rows.Model()))
    finally:
        sys.path.remove(str(folder))
        sys.modules.pop("slow_rows", None)

    def make(**settings) -> Deployed:
        from trainyard.contract.serving import ScorerKind

        one = scorer(folder, kind=ScorerKind.SKLEARN, model_path=str(folder / "model.pkl"), **settings)
        return service(dataclasses.replace(one, entry_script=None), name="rows").start().healthy()

    return make


def test_batches_form_under_load_and_only_then(rows: Callable[..., Deployed]) -> None:
    deployed = rows(batch=16, batch_wait_ms=20.0)
    for number in range(5):
        assert deployed.post({"data": [[number, 1]]}).json == {"predict": [number + 1.0]}
    count = 'trainyard_batch_size_count{service="rows",version="1"}'
    alone = 'trainyard_batch_size_bucket{service="rows",version="1",le="1.0"}'
    assert metric(deployed, count) == metric(deployed, alone) == 5
    bodies = [{"data": [[number, 1]]} for number in range(64)]
    bodies[10] = {"data": [[0.5, 1]]}  # one that the model chokes on, among others
    with ThreadPoolExecutor(32) as pool:
        replies = list(pool.map(deployed.post, bodies))
    assert (replies[10].status, replies[10].json["error"]) == (500, "AssertionError: half a row")
    for number, reply in enumerate(replies):
        if number != 10:
            assert reply.json == {"predict": [number + 1.0]}, number
    assert metric(deployed, count) == 69
    assert metric(deployed, alone) < 30
    assert metric(deployed, 'trainyard_batch_size_bucket{service="rows",version="1",le="16.0"}') == 69


def test_metrics_are_prometheus_text(of_script: OfScript) -> None:
    deployed = of_script("def init(): pass\ndef run(data): return 1 / int(data)\n")
    deployed.post("1")
    deployed.post("0")
    reply = deployed.get("/metrics")
    assert reply.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    labels = 'service="echo",version="1"'
    assert metric(deployed, f'trainyard_requests_total{{{labels},code="200"}}') == 1
    assert metric(deployed, f'trainyard_requests_total{{{labels},code="500"}}') == 1
    assert metric(deployed, f'trainyard_request_seconds_bucket{{{labels},le="+Inf"}}') == 2
    assert metric(deployed, f"trainyard_request_seconds_count{{{labels}}}") == 2
    assert metric(deployed, f"trainyard_workers{{{labels}}}") == 1
    assert metric(deployed, f"trainyard_requests_running{{{labels}}}") == 0
    for line in reply.body.decode().splitlines():
        assert line.startswith(("# HELP ", "# TYPE ", "trainyard_")), line
