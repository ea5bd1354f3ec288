"""Whole attempts: guardian, agent and user processes are real, only the service is a fake."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest
from yard import DRIVER, Yard, alive, kill_and_wait

from trainyard.contract import tape
from trainyard.contract.attempts import NodeEnded
from trainyard.contract.runs import EnvironmentSpec
from trainyard.contract.states import AgentState

PRINTS_AND_KEEPS = """
import os
print("hello")
open("outputs/model.txt", "w").write("weights")
os.makedirs("logs/deep", exist_ok=True)
open("logs/deep/notes.txt", "w").write("notes")
open("elsewhere.txt", "w").write("not collected")
"""


@pytest.fixture(params=["shared", "apart"])
def either(request: pytest.FixtureRequest) -> Yard:
    found: Yard = request.getfixturevalue("yard" if request.param == "shared" else "apart")
    return found


def test_a_run_that_goes_well(either: Yard) -> None:
    heard = either.run(PRINTS_AND_KEEPS)
    assert heard.log(DRIVER) == b"hello\n"
    assert heard.ended == {0: NodeEnded(exit_code=0)}
    assert heard.started == {0}
    assert {name: either.service.store.read(file.digest or "") for name, file in heard.files.items()} == {
        "outputs/model.txt": b"weights",
        "logs/deep/notes.txt": b"notes",
    }
    assert b"Started rank 0" in heard.log("azureml-logs/55_azureml-execution-node-0.txt")
    assert b"laid out" in heard.log("azureml-logs/65_job_prep-node-0.txt")
    assert b"Collected 2 files, 12 bytes." in heard.log("azureml-logs/75_job_post-node-0.txt")
    assert os.listdir(either.root / "work") == ([] if either.shared else [next(iter(either.service.attempts))])


def test_a_trivial_run_costs_three_requests_at_most(yard: Yard) -> None:
    heard = yard.run("")
    verbs = [verb for _, verb in heard.requests]
    assert verbs in (["arrive", "report"], ["arrive", "report", "report"])  # the second when its start took a while


def test_a_script_that_exits_with_3(yard: Yard) -> None:
    error = yard.run("import sys; print('before'); print('the reason', file=sys.stderr); sys.exit(3)").ended[0].error
    assert error is not None
    assert (error.code, error.exit_code, error.node, error.rank) == ("UserScriptFailed", 3, 0, 0)
    assert error.last_lines == ("before", "the reason")
    assert error.message == "The script ended with exit code 3. The end of azureml-logs/70_driver_log.txt says why."


def test_a_progress_bar_leaves_one_line_in_what_a_script_wrote_last(yard: Yard) -> None:
    script = (
        "print('before'); print(*(f'\\r{n} of 30' for n in range(31)), sep='', end='\\r\\n'); raise SystemExit('why')"
    )
    error = yard.run(script).ended[0].error
    assert error is not None
    assert error.last_lines == ("before", "30 of 30", "why")


def test_a_script_killed_by_a_signal(yard: Yard) -> None:
    error = yard.run("import os; os.kill(os.getpid(), 11)").ended[0].error
    assert error is not None
    assert (error.code, error.exit_code) == ("UserScriptKilled", -11)
    assert "SIGSEGV" in error.message


def test_a_script_that_runs_out_of_memory(yard: Yard) -> None:
    script = "import resource; resource.setrlimit(resource.RLIMIT_AS, (1 << 29, 1 << 29)); x = bytearray(1 << 30)"
    error = yard.run(script).ended[0].error
    assert error is not None
    assert error.code == "OutOfMemory"


def test_a_full_disk(yard: Yard) -> None:
    error = yard.run("open('/dev/full', 'w', buffering=1).write('x\\n')").ended[0].error
    assert error is not None
    assert error.code == "DiskFull"


def test_a_script_that_is_not_there(yard: Yard) -> None:
    error = yard.run("", script="other.py").ended[0].error
    assert error is not None
    assert error.code == "ScriptNotFound"
    assert "other.py is not in the run's snapshot" in error.message


def test_an_interpreter_that_is_not_there(yard: Yard) -> None:
    environment = EnvironmentSpec(user_managed=True, interpreter="/no/such/python")
    error = yard.run("", environment=environment).ended[0].error
    assert error is not None
    assert error.code == "environment.refused"
    assert "interpreter_path" in error.message


def test_a_run_that_takes_too_long(yard: Yard) -> None:
    error = yard.run("import time; time.sleep(600)", max_duration_s=1).ended[0].error
    assert error is not None
    assert error.code == "TimeLimit"
    assert "max_run_duration_seconds=1 " in error.message


def test_a_command_runs_in_the_nodes_shell(yard: Yard) -> None:
    heard = yard.run("", script=None, command='echo "$AZUREML_RUN_ID" | tr a-z A-Z; exit 5')
    assert heard.log(DRIVER) == b"FIRST_1_ABCD1234\n"
    assert heard.ended[0].exit_code == 5


def test_arguments_are_expanded_on_the_node(yard: Yard) -> None:
    heard = yard.run(
        "import sys; print(sys.argv[1:])",
        arguments=("$DATA/x", "${DATA}", "$NOBODY", "cost: 5$"),
        variables={"DATA": "/d"},
    )
    assert heard.log(DRIVER) == b"['/d/x', '/d', '$NOBODY', 'cost: 5$']\n"


def test_a_bare_environment_has_our_overlay_and_nothing_else(yard: Yard) -> None:
    script = (
        "import azureml, trainyard.contract.runs, sys, os\n"
        "print(azureml.__file__.startswith(os.environ['PYTHONPATH'].split(':')[0]))\n"
        "try:\n    import pathspec\nexcept ImportError:\n    print('bare')\n"
        "sys.path.append(__import__('trainyard.contract.attempts').contract.attempts.JobContext.of_this_process()"
        ".last_on_path)\nimport pathspec\n"
    )
    heard = yard.run(script, environment=EnvironmentSpec())
    assert heard.log(DRIVER) == b"True\nbare\n"
    assert heard.ended == {0: NodeEnded(exit_code=0)}


def test_bytes_are_bytes(yard: Yard) -> None:
    heard = yard.run(
        "import os\nos.write(1, b'\\xff\\xfe not text\\n')\nos.write(1, b'x' * 1_000_000)\nos.write(2, b'\\x00end')"
    )
    assert heard.log(DRIVER) == b"\xff\xfe not text\n" + b"x" * 1_000_000 + b"\x00end"


def test_more_than_a_report_holds(yard: Yard) -> None:
    heard = yard.run("import os\nfor n in range(20):\n    os.write(1, bytes([65 + n]) * 1_000_000)")
    assert heard.log(DRIVER) == b"".join(bytes([65 + n]) * 1_000_000 for n in range(20))


LOGS_METRICS = """
import os, sys
from trainyard.contract.attempts import JobContext
from trainyard.contract.tape import TapeWriter
writer = TapeWriter(os.path.join(JobContext.of_this_process().spool, f"{os.getpid()}.tape"))
for n in range(2000):
    writer.number("loss", n / 2)
    print("line", n, flush=True)
    if n == 500:
        open(sys.argv[1], "w").close()
        while not os.path.exists(sys.argv[2]):
            pass
os.kill(os.getpid(), 9)
"""


@pytest.mark.parametrize("how", ["dies", "loses answers"])
def test_nothing_is_lost_or_doubled_when_the_service_goes(yard: Yard, tmp_path: Path, how: str) -> None:
    reached, go_on = tmp_path / "reached", tmp_path / "go-on"
    attempt = yard.submit(yard.spec(LOGS_METRICS, arguments=(str(reached), str(go_on))))
    heard = yard.service.attempts[attempt]
    yard.service.wait(lambda: b"line 100\n" in heard.log(DRIVER))
    if how == "dies":
        yard.service.die()
        go_on.touch()
        _until(lambda: alive_of(heard.arrivals[0].pid) == [])
        yard.service.start()
    else:
        yard.service.losing_answers = 3
        go_on.touch()
    yard.final(attempt)
    assert heard.log(DRIVER) == b"".join(b"line %d\n" % n for n in range(2000))
    (name,) = [stream for stream in heard.streams if stream.endswith(".tape")]
    assert name.startswith("node-0/")
    values = [one.value for one in tape.records(heard.log(name)) if one.kind == tape.FLOAT]
    assert values == [n / 2 for n in range(2000)]
    assert heard.ended[0].exit_code == -9


def alive_of(agent: int) -> list[int]:
    from trainyard.agent.system import descendants

    return descendants(agent)


WITH_DAEMON = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN if "stubborn" in sys.argv else signal.SIG_DFL)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        os.write(1, b"daemon %d\\n" % os.getpid())
        time.sleep(600)
    os._exit(0)
os.wait()
open("outputs/kept.txt", "w").write("kept")
os.write(1, b"script %d\\n" % os.getpid())
time.sleep(600 if "stay" in sys.argv else 0)
"""


def _pids(yard: Yard, attempt: str) -> list[int]:
    heard = yard.service.attempts[attempt]
    yard.service.wait(lambda: heard.log(DRIVER).count(b"\n") == 2)
    return [int(line.split()[1]) for line in heard.log(DRIVER).splitlines()]


def test_a_daemon_ends_with_its_run(yard: Yard) -> None:
    attempt = yard.submit(yard.spec(WITH_DAEMON))
    pids = _pids(yard, attempt)
    assert yard.final(attempt).ended == {0: NodeEnded(exit_code=0)}
    assert not any(alive(pid) for pid in pids)


@pytest.mark.parametrize("stubborn", [(), ("stubborn",)])
@pytest.mark.parametrize("by", ["backend", "service"])
def test_cancel_ends_everything_and_keeps_the_files(yard: Yard, stubborn: tuple[str, ...], by: str) -> None:
    attempt = yard.submit(yard.spec(WITH_DAEMON, arguments=("stay", *stubborn)))
    pids = _pids(yard, attempt)
    if by == "backend":
        yard.backend.cancel(attempt)
    else:
        yard.service.attempts[attempt].cancel = True
    heard = yard.final(attempt)
    assert heard.ended == {0: NodeEnded(stopped=True)}
    assert not any(alive(pid) for pid in pids)
    assert list(heard.files) == ["outputs/kept.txt"]


def test_cancel_before_all_nodes_have_arrived(yard: Yard) -> None:
    attempt = yard.submit(yard.spec(""))
    yard.final(attempt)
    other = yard.submit(yard.spec(""), nodes=1)
    waiting = yard.service.attempts[other]
    waiting.nodes = 2
    yard.service.wait(lambda: bool(waiting.arrivals))
    yard.backend.cancel(other, grace_s=60)  # it ends by itself, also on a machine that is busy
    yard.gone(other)


def test_an_attempt_that_is_over_ends_its_agent(yard: Yard) -> None:
    attempt = yard.submit(yard.spec(WITH_DAEMON, arguments=("stay", "stubborn")))
    pids = _pids(yard, attempt)
    yard.service.attempts[attempt].over = True
    yard.gone(attempt)
    assert not any(alive(pid) for pid in pids)


def test_a_killed_agent_leaves_nothing(yard: Yard) -> None:
    attempt = yard.submit(yard.spec(WITH_DAEMON, arguments=("stay",)))
    pids = _pids(yard, attempt)
    os.kill(yard.service.attempts[attempt].arrivals[0].pid, signal.SIGKILL)
    yard.gone(attempt, AgentState.FAILED)
    assert not any(alive(pid) for pid in pids)
    assert "killed by SIGKILL" in yard.backend.observe([attempt])[attempt].detail


def test_a_run_goes_on_while_its_guardian_is_killed(yard: Yard, tmp_path: Path) -> None:
    script = f"import os, time\nprint('up', flush=True)\nwhile not os.path.exists('{tmp_path}/go'): time.sleep(0.01)"
    attempt = yard.submit(yard.spec(script))
    heard = yard.service.attempts[attempt]
    yard.service.wait(lambda: heard.log(DRIVER) == b"up\n")
    kill_and_wait(yard.guardian())
    (tmp_path / "go").touch()
    assert yard.final(attempt).ended == {0: NodeEnded(exit_code=0)}


NODES = """
import os, time
rank = int(os.environ["RANK_FILE"]) if "RANK_FILE" in os.environ else None
from trainyard.contract.attempts import JobContext
me = JobContext.of_this_process()
open(f"outputs/{me.rank}.txt", "w").write(str(me.rank))
print("rank", me.rank, sorted(os.listdir(".")), flush=True)
until = time.monotonic() + (0.3 if me.rank else 0)
while time.monotonic() < until:
    time.sleep(0.01)
open(f"outputs/late-{me.rank}.txt", "w").write("late")
"""


def test_nodes_of_one_machine_share_a_folder(yard: Yard) -> None:
    heard = yard.run(NODES, nodes=2)
    assert sorted(heard.files) == ["outputs/0.txt", "outputs/1.txt", "outputs/late-0.txt", "outputs/late-1.txt"]
    assert heard.log("azureml-logs/70_driver_log_0.txt") == b"rank 0 ['logs', 'outputs', 'train.py']\n"
    assert heard.log("azureml-logs/70_driver_log_1.txt") == b"rank 1 ['logs', 'outputs', 'train.py']\n"
    assert [heard.log(f"azureml-logs/65_job_prep-node-{n}.txt").count(b"laid out") for n in (0, 1)].count(1) == 1
    assert os.listdir(yard.root / "work") == []


def test_nodes_that_share_nothing(apart: Yard) -> None:
    heard = apart.run(NODES, nodes=2)
    assert sorted(heard.files) == ["outputs/0.txt", "outputs/1.txt", "outputs/late-0.txt", "outputs/late-1.txt"]
    assert heard.ended == {0: NodeEnded(exit_code=0), 1: NodeEnded(exit_code=0)}


def test_a_later_attempt_finds_the_outputs_of_the_earlier(either: Yard) -> None:
    either.run("open('outputs/checkpoint', 'w').write('step 5'); open('logs/l', 'w').write('log')")
    script = "import os; print(open('outputs/checkpoint').read(), os.listdir('logs'))"
    attempt = either.submit(either.spec(script), restore_outputs=True, attempt=2)
    assert either.final(attempt).log(DRIVER) == b"step 5 []\n"


def test_files_are_collected_while_the_run_runs(yard: Yard) -> None:
    script = "import time\nopen('logs/tb', 'w').write('events')\nopen('outputs/o', 'w').write('x')\ntime.sleep(600)"
    attempt = yard.submit(yard.spec(script))
    heard = yard.service.attempts[attempt]
    yard.service.wait(lambda: sorted(heard.files) == ["logs/tb", "outputs/o"])


def test_gpus_and_variables_reach_the_job(yard: Yard) -> None:
    script = "import os\nfor n in ('CUDA_VISIBLE_DEVICES', 'MINE', 'AZUREML_ARM_WORKSPACE_NAME'): print(os.environ[n])"
    attempt = yard.submit(yard.spec(script, variables={"MINE": "1"}), gpus=("2", "3"))
    assert yard.final(attempt).log(DRIVER) == b"2,3\n1\nyard\n"


def _until(holds: object) -> None:
    until = time.monotonic() + 30
    while not holds():  # type: ignore[operator]
        assert time.monotonic() < until
        time.sleep(0.01)
