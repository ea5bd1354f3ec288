"""Agents and the guardian are killed: runs say so or go on, and no process is left."""

from __future__ import annotations

from stead import Stead, is_alive, kill, until

# A job with a daemon that left its session, its parent and its variables behind. Both write down who they are.
WITH_DAEMON = """
import os, subprocess, sys, time
folder = sys.argv[1]
daemon = "import os, sys, time; open(sys.argv[1] + '.new', 'w').write(str(os.getpid()));"
daemon += "os.rename(sys.argv[1] + '.new', sys.argv[1]); time.sleep(600)"
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.execve(sys.executable, [sys.executable, '-c', daemon, folder + '/daemon'], {})
    os._exit(0)
os.wait()
open(folder + '/script.new', 'w').write(str(os.getpid()))
os.rename(folder + '/script.new', folder + '/script')
print('up', flush=True)
"""
WAITING = WITH_DAEMON + "while not os.path.exists(folder + '/go'): time.sleep(0.02)\nprint('done', flush=True)\n"


def processes_of(stead: Stead) -> list[int]:
    """The script and its daemon, once both are there."""
    pids = [int(until(lambda name=name: read(stead, name))) for name in ("script", "daemon")]
    stead.tracked.update(pids)
    return pids


def read(stead: Stead, name: str) -> str:
    path = stead.root / name
    return path.read_text() if path.exists() else ""


def test_a_killed_agent_fails_its_run_and_leaves_nothing(stead):
    run = stead.submit(WAITING, arguments=[stead.root])
    pids = processes_of(stead)
    until(lambda: b"up" in stead.log(run))
    [agent] = stead.agent_pids(run)
    kill(agent)
    run.wait_for_completion(raise_on_error=False)
    assert run.get_status() == "Failed"
    error = run.get_details()["error"]["error"]
    assert "The agent on node-0 died (node 0: killed by SIGKILL)" in error["message"]
    until(lambda: not any(map(is_alive, pids)), 5)
    assert stead.log(run) == b"up\n"  # what it had sent is kept


def test_a_killed_guardian_is_replaced_and_its_runs_go_on(stead):
    run = stead.submit(WAITING, arguments=[stead.root])
    pids = processes_of(stead)
    guardian = stead.guardian_pid()
    kill(guardian)
    until(lambda: not is_alive(guardian))
    other = stead.submit("print('another')\n")
    other.wait_for_completion()
    assert stead.log(other) == b"another\n"
    assert stead.guardian_pid() != guardian
    assert run.get_status() == "Running"
    (stead.root / "go").write_text("")
    run.wait_for_completion()
    assert run.get_status() == "Completed"
    assert stead.log(run) == b"up\ndone\n"
    until(lambda: not any(map(is_alive, pids)), 5)


def test_an_agent_killed_after_its_guardian(stead):
    """The new guardian is not the parent of what it finds."""
    run = stead.submit(WAITING, arguments=[stead.root])
    pids = processes_of(stead)
    [agent] = until(lambda: stead.agent_pids(run))
    guardian = stead.guardian_pid()
    kill(guardian)
    until(lambda: stead.guardian_pid() not in (0, guardian))
    kill(agent)
    run.wait_for_completion(raise_on_error=False)
    assert run.get_status() == "Failed"
    assert "died" in run.get_details()["error"]["error"]["message"]
    until(lambda: not is_alive(pids[0]), 5)
    # the daemon cleared its variables: only a control group still finds it then
    assert "trainyard" not in cgroup_of(pids[1]) or until(lambda: not is_alive(pids[1]), 5)
    kill(pids[1])


def cgroup_of(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/cgroup", encoding="ascii") as file:
            return file.read()
    except OSError:
        return ""


def test_agent_and_guardian_killed_together(stead):
    code = WAITING.replace("sys.argv[1]], {})", "sys.argv[1]], os.environ)")
    run = stead.submit(code, arguments=[stead.root])
    pids = processes_of(stead)
    [agent] = until(lambda: stead.agent_pids(run))
    for pid in (stead.guardian_pid(), agent):
        kill(pid)
    run.wait_for_completion(raise_on_error=False)
    assert run.get_status() == "Failed"
    assert "died" in run.get_details()["error"]["error"]["message"]
    until(lambda: not is_alive(pids[0]), 5)
    again = stead.submit("print('on')\n")
    again.wait_for_completion()
    assert stead.log(again) == b"on\n"


def test_everything_of_ours_killed_at_once(stead):
    """Service, guardian and agent: the next call finds the run, says how it ended, and goes on."""
    run = stead.submit(WITH_DAEMON + "time.sleep(600)\n", arguments=[stead.root])
    pids = processes_of(stead)
    [agent] = until(lambda: stead.agent_pids(run))
    for pid in (stead.service_pid(), stead.guardian_pid(), agent):
        kill(pid)
    run.wait_for_completion(raise_on_error=False)
    assert run.get_status() == "Failed"
    until(lambda: not is_alive(pids[0]), 5)
    kill(pids[1])  # without variables, without a parent of ours: only a control group could know it
    assert stead.rows("SELECT count(*) FROM attempts") == [(1,)]


def test_what_an_agent_had_to_start_outlives_its_run(stead):
    """Service and guardian are killed and nobody is there but an agent: the service it starts, and the guardian which
    that one starts, are everybody's and stay when the agent's own run is over."""
    run = stead.submit(WAITING, arguments=[stead.root])
    processes_of(stead)
    until(lambda: b"up" in stead.log(run))
    service, guardian = stead.service_pid(), stead.guardian_pid()
    kill(guardian)
    kill(service)
    service = stead.next_service(service).pid
    until(lambda: stead.guardian_pid() not in (0, guardian))
    guardian = stead.guardian_pid()
    go = stead.root / "go-other"
    other = stead.submit(
        "import os, sys, time\nprint('up', flush=True)\nwhile not os.path.exists(sys.argv[1]): time.sleep(0.02)\n",
        arguments=[go],
    )
    until(lambda: b"up" in stead.log(other))
    (stead.root / "go").write_text("")
    run.wait_for_completion()
    assert run.get_status() == "Completed"
    until(lambda: not stead.agent_pids(run))
    assert (stead.service_pid(), stead.guardian_pid()) == (service, guardian)
    assert other.get_status() == "Running"
    go.write_text("")
    other.wait_for_completion()
    assert other.get_status() == "Completed"
    assert (stead.service_pid(), stead.guardian_pid()) == (service, guardian)
