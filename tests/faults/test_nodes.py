"""Several nodes, nodes that are taken away, and many runs at once."""

from __future__ import annotations

import itertools
import threading

import pytest
from stead import PATIENCE_S, is_alive, kill, until

from azureml.core import Experiment
from azureml.core.compute import AmlCompute, ComputeTarget
from trainyard.contract.states import MOVES, RunState


@pytest.fixture(scope="module")
def cheap(shared):
    """A target whose nodes can be taken away."""
    settings = AmlCompute.provisioning_configuration(
        vm_size="STANDARD_D2_V2", max_nodes=2, vm_priority="lowpriority", idle_seconds_before_scaledown=600
    )
    made = ComputeTarget.create(shared.workspace, "cheap", settings)
    made.wait_for_completion()
    return made


def computes(shared):
    return shared.workspace._clients.computes


PATIENT = """
import os, sys, time
from azureml.core import Run
run = Run.get_context()
before = sorted(os.listdir('outputs'))
attempt = len(before) + 1
print('attempt', attempt, 'found', before, flush=True)
open(f'outputs/{attempt}.txt', 'w').write(f'of {attempt}')
for n in range(100): run.log('n', n)
print('ready', attempt, flush=True)
while not os.path.exists(sys.argv[1]): time.sleep(0.02)
"""


def test_a_preempted_run_gets_a_new_attempt_with_its_outputs(shared, cheap):
    go = shared.root / "go-preempted"
    run = shared.submit(PATIENT, target=cheap, arguments=[go])
    until(lambda: b"ready 1" in shared.log(run))
    assert computes(shared).preempt("cheap") == [run.id]
    until(lambda: b"ready 2" in shared.log(run))
    go.write_text("")
    run.wait_for_completion()
    assert run.get_status() == "Completed"
    assert shared.log(run).decode().splitlines() == [
        "attempt 1 found []",
        "ready 1",
        "attempt 2 found ['1.txt']",
        "ready 2",
    ]
    assert run.get_metrics() == {"n": [*range(100), *range(100)]}
    run.download_files(prefix="outputs", output_directory=str(shared.root / "preempted"))
    found = {path.name: path.read_text() for path in (shared.root / "preempted" / "outputs").iterdir()}
    assert found == {"1.txt": "of 1", "2.txt": "of 2"}
    expect_legal(run, attempts=2)


def expect_legal(run, attempts: int) -> None:
    events = run._runs.events(run.id)
    for before, after in itertools.pairwise(events):
        restarted = after.state is RunState.QUEUED and before.attempt == after.attempt > 0
        assert restarted or after.state in MOVES[before.state], (before, after)
        assert after.time_ns >= before.time_ns
    assert [event.attempt for event in events if event.state is RunState.STARTING] == list(range(1, attempts + 1))
    assert sum(event.state in (RunState.COMPLETED, RunState.FAILED, RunState.CANCELED) for event in events) == 1


def test_preempted_and_canceled_together(shared, cheap):
    run = shared.submit(PATIENT, target=cheap, arguments=[shared.root / "never"])
    until(lambda: b"ready 1" in shared.log(run))
    computes(shared).preempt("cheap")
    run.cancel()
    run.wait_for_completion()
    assert run.get_status() == "Canceled"
    assert shared.states(run)[-1] == "Canceled"


BOTH = """
import os, sys, time
from azureml.core import Run
run = Run.get_context()
rank = os.environ.get('AZ_BATCHAI_TASK_INDEX') or os.environ.get('RANK') or sys.argv[1]
me = os.getpid()
open(f'outputs/here-{me}', 'w').write(os.environ['AZUREML_RUN_ID'])
open(f'logs/log-{me}.txt', 'w').write('hello')
while len(os.listdir('outputs')) < 2: time.sleep(0.01)
print('both are here', flush=True)
run.log('pid', me)
"""


def test_two_nodes_share_outputs_and_logs(shared, cheap):
    run = shared.submit(BOTH, target=cheap, nodes=2, arguments=["x"])
    run.wait_for_completion()
    names = run.get_file_names()
    assert len([name for name in names if name.startswith("outputs/here-")]) == 2
    assert len([name for name in names if name.startswith("logs/log-")]) == 2
    drivers = sorted(name for name in names if "70_driver_log" in name)
    assert drivers == ["azureml-logs/70_driver_log_0.txt", "azureml-logs/70_driver_log_1.txt"]
    assert [shared.log(run, name) for name in drivers] == [b"both are here\n"] * 2
    assert len(run.get_metrics()["pid"]) == 2


FIRST_FAILS = """
import os, sys, time
try:
    os.close(os.open('outputs/first', os.O_CREAT | os.O_EXCL))
    first = True
except FileExistsError:
    first = False
open(sys.argv[1] + f'-{os.getpid()}', 'w').write('')
while len([n for n in os.listdir(os.path.dirname(sys.argv[1])) if n.startswith('failing-')]) < 2: time.sleep(0.01)
if first:
    print('I am the one', flush=True)
    sys.exit(7)
time.sleep(600)
"""


def test_one_failed_node_ends_the_other(shared, cheap):
    run = shared.submit(FIRST_FAILS, target=cheap, nodes=2, arguments=[shared.root / "failing"])
    run.wait_for_completion(raise_on_error=False)
    assert run.get_status() == "Failed"
    error = run.get_details()["error"]["error"]
    assert "exit code 7" in error["message"]
    pids = [int(path.name.partition("-")[2]) for path in shared.root.glob("failing-*")]
    assert len(pids) == 2
    assert not any(map(is_alive, pids))


def test_an_agent_of_two_is_killed(shared, cheap):
    code = (
        "import os, sys, time\nopen(sys.argv[1] + f'-{os.getpid()}', 'w').write('')\n"
        "print('up', flush=True)\ntime.sleep(600)\n"
    )
    run = shared.submit(code, target=cheap, nodes=2, arguments=[shared.root / "halved"])
    until(lambda: len(list(shared.root.glob("halved-*"))) == 2)
    kill(shared.agent_pids(run)[1])
    run.wait_for_completion(raise_on_error=False)
    assert run.get_status() == "Failed"
    assert "node-1" in run.get_details()["error"]["error"]["message"]
    pids = [int(path.name.partition("-")[2]) for path in shared.root.glob("halved-*")]
    until(lambda: not any(map(is_alive, pids)), 5)


def test_fifty_runs_at_once(shared):
    """From four threads: every one runs, and runs once."""
    ran = shared.root / "ran"
    ran.mkdir()
    config = shared.config(
        "import os, sys\nopen(f'{sys.argv[1]}/{os.environ[\"AZUREML_RUN_ID\"]}', 'a').write('x')\n", None, 1, [ran]
    )
    runs, failed = [], []

    def submit(count: int) -> None:
        experiment = Experiment(shared.workspace, "many")
        try:
            runs.extend(experiment.submit(config) for _ in range(count))
        except Exception as error:  # noqa: BLE001 - none of any kind is expected
            failed.append(error)

    threads = [threading.Thread(target=submit, args=(count,)) for count in (13, 13, 12, 12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)
    assert failed == []
    for run in runs:
        run.wait_for_completion()
    assert {path.name: path.read_text() for path in ran.iterdir()} == {run.id: "x" for run in runs}
    assert len(runs) == 50
