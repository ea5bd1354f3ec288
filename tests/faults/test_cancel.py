"""Cancel, at every state a run can be in, and what is left afterwards: nothing."""

from __future__ import annotations

import itertools

import pytest
from stead import PATIENCE_S, Stead, is_alive, until

from azureml.core import Experiment
from azureml.core.compute import AmlCompute, ComputeTarget
from trainyard.contract.states import MOVES, RunState

# Does not listen, and has a daemon that does not either.
STUBBORN = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
def note(name):
    open(sys.argv[1] + name + '.new', 'w').write(str(os.getpid()))
    os.rename(sys.argv[1] + name + '.new', sys.argv[1] + name)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        note('daemon')
        while True: time.sleep(600)
    os._exit(0)
note('script')
while True: time.sleep(600)
"""


@pytest.fixture(scope="module")
def target(shared):
    made = ComputeTarget.create(
        shared.workspace, "two", AmlCompute.provisioning_configuration(vm_size="STANDARD_D2_V2", max_nodes=2)
    )
    made.wait_for_completion()
    return made


def pids(shared: Stead, prefix: str) -> list[int]:
    files = [shared.root / (prefix + name) for name in ("script", "daemon")]
    found = [int(until(lambda file=file: file.exists() and file.read_text())) for file in files]
    shared.tracked.update(found)
    return found


def legal(states: list[str]) -> bool:
    pairs = itertools.pairwise(states)
    return all(RunState(after) in MOVES[RunState(before)] for before, after in pairs)


def test_running_leaves_no_process(shared):
    run = shared.submit(STUBBORN, arguments=[shared.root / "running-"])
    found = pids(shared, "running-")
    run.cancel()
    assert run.get_status() in ("CancelRequested", "Finalizing", "Canceled")
    run.wait_for_completion()
    assert run.get_status() == "Canceled"
    assert not any(map(is_alive, found))
    assert legal(shared.states(run))


def test_twice_and_once_more_after_the_end(shared):
    run = shared.submit("import time\nprint('up', flush=True)\ntime.sleep(600)\n")
    until(lambda: shared.log(run))
    run.cancel()
    run.cancel()
    run.wait_for_completion()
    history = shared.states(run)
    run.cancel()
    assert shared.states(run) == history
    assert history[-1] == "Canceled"
    assert history.count("CancelRequested") == 1


def test_a_finished_run_stays_as_it_is(shared):
    for code, state in (("", "Completed"), ("raise SystemExit(1)", "Failed")):
        run = shared.submit(code)
        run.wait_for_completion(raise_on_error=False)
        history = shared.states(run)
        run.cancel()
        assert run.get_status() == state
        assert shared.states(run) == history


def test_right_after_submit(shared):
    """NotStarted, Queued, Starting: wherever it is by then, the script is not left running."""
    runs = []
    for number in range(6):
        ran = shared.root / f"early-{number}"
        code = "import sys, time\nopen(sys.argv[1], 'a').write('x')\ntime.sleep(600)\n"
        run = shared.submit(code, arguments=[ran])
        if number % 2:
            until(lambda run=run: run.get_status() not in ("NotStarted", "Preparing", "Queued"))
        run.cancel()
        runs.append((run, ran))
    for run, ran in runs:
        run.wait_for_completion()
        assert run.get_status() == "Canceled"
        assert legal(shared.states(run))
        assert not ran.exists() or ran.read_text() == "x"


def test_queued_never_runs_and_the_next_gets_the_node(shared, target):
    free = shared.root / "free"
    hold = "import os, sys, time\nprint('up', flush=True)\nwhile not os.path.exists(sys.argv[1]): time.sleep(0.02)\n"
    blocker = shared.submit(hold, target=target, nodes=2, arguments=[free])
    until(lambda: shared.log(blocker, "azureml-logs/70_driver_log_0.txt"))
    ran = shared.root / "queued-ran"
    queued = shared.submit("import sys\nopen(sys.argv[1], 'w')\n", target=target, nodes=2, arguments=[ran])
    behind = shared.submit("print('mine')\n", target=target)
    until(lambda: queued.get_status() == "Queued")
    queued.cancel()
    queued.wait_for_completion()
    assert shared.states(queued)[-3:] == ["Queued", "CancelRequested", "Canceled"]
    assert behind.get_status() == "Queued"
    blocker.cancel()
    behind.wait_for_completion()
    assert shared.log(behind) == b"mine\n"
    assert not ran.exists()


def test_while_files_are_collected(shared):
    """Too late to stop anything: the run ends as it ends, once."""
    code = "for n in range(800): open(f'outputs/{n}', 'w').write(str(n))\n"
    run = shared.submit(code)
    until(lambda: shared.states(run)[-1] in ("Finalizing", "Completed"))
    run.cancel()
    run.wait_for_completion()
    assert run.get_status() in ("Completed", "Canceled")
    assert legal(shared.states(run))


def test_children_go_with_their_parent(shared):
    code = (
        "import os, sys, time\nfrom azureml.core import Run, ScriptRunConfig\nrun = Run.get_context()\n"
        "open('child.py', 'w').write('import time\\nprint(\"child up\", flush=True)\\ntime.sleep(600)\\n')\n"
        "child = run.submit_child(ScriptRunConfig(source_directory='.', script='child.py'))\n"
        "run.child_run('logged').log('a', 1)\nprint(child.id, flush=True)\ntime.sleep(600)\n"
    )
    run = shared.submit(code)
    child_id = until(lambda: shared.log(run).decode().strip())
    from azureml.core import Run

    child = Run.get(shared.workspace, child_id)
    until(lambda: b"child up" in shared.log(child))
    run.cancel()
    run.wait_for_completion()
    child.wait_for_completion()
    assert [run.get_status(), child.get_status()] == ["Canceled", "Canceled"]
    assert [other.get_status() for other in run.get_children()] == ["Canceled", "Canceled"]


def test_by_two_at_the_same_instant(shared):
    import threading

    run = shared.submit("import time\nprint('up', flush=True)\ntime.sleep(600)\n")
    until(lambda: shared.log(run))
    others = [Experiment(shared.workspace, "faults") for _ in range(4)]
    barrier, failed = threading.Barrier(4), []

    def cancel(experiment) -> None:
        from azureml.core import Run

        mine = Run(experiment, run.id)
        barrier.wait(PATIENCE_S)
        try:
            mine.cancel()
        except Exception as error:  # noqa: BLE001 - none of any kind is expected
            failed.append(error)

    threads = [threading.Thread(target=cancel, args=(other,)) for other in others]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)
    assert failed == []
    run.wait_for_completion()
    assert shared.states(run).count("CancelRequested") == 1
