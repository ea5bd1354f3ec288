"""Scripts that end badly, say too much, leave things behind or do not listen: the run tells what happened."""

from __future__ import annotations

import json
import sys

import pytest
from stead import is_alive, until

from azureml.exceptions import ActivityFailedException


def error_of(run) -> dict:
    run.wait_for_completion(raise_on_error=False)
    assert run.get_status() == "Failed"
    return run.get_details()["error"]["error"]


def test_exit_code_3(shared):
    run = shared.submit("import sys\nprint('before', flush=True)\nsys.exit(3)\n")
    with pytest.raises(ActivityFailedException) as raised:
        run.wait_for_completion()
    assert "exit code 3" in raised.value.message
    assert json.loads(raised.value.error_details)["error"]["code"] == "UserScriptFailed"
    assert shared.log(run) == b"before\n"
    assert shared.states(run)[-2:] == ["Finalizing", "Failed"]


@pytest.mark.parametrize("name", ["SIGSEGV", "SIGKILL", "SIGTERM", "SIGABRT"])
def test_killed_by_a_signal(shared, name):
    error = error_of(shared.submit(f"import os, signal\nos.kill(os.getpid(), signal.{name})\n"))
    assert f"The script was killed by {name}." in error["message"]


def test_out_of_memory_in_python(shared):
    code = (
        "import resource\nresource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))\n"
        "hoard = [bytearray(1 << 28) for _ in range(100)]\n"
    )
    assert "The script ran out of memory." in error_of(shared.submit(code))["message"]


def test_out_of_memory_in_a_command(shared):
    hungry = f"ulimit -v 500000; {sys.executable} -c 'bytearray(1 << 31)'"
    assert "The script ran out of memory." in error_of(shared.submit("", command=hungry))["message"]


def test_a_megabyte_without_a_newline(shared, capsys):
    run = shared.submit("import sys\nsys.stdout.write('x' * 1_000_000)\nsys.stdout.write('end')\n")
    run.wait_for_completion(show_output=True)
    assert shared.log(run) == b"x" * 1_000_000 + b"end"
    assert "x" * 1_000_000 + "end" in capsys.readouterr().out


def test_bytes_that_are_no_text(shared, capsys):
    every = bytes(range(256)) * 40
    run = shared.submit(
        "import os, time\nfor byte in bytes(range(256)) * 40: os.write(1, bytes([byte]))\n"
        "os.write(1, 'gr\\u00fc\\u00df'.encode())\nos._exit(5)\n"
    )
    with pytest.raises(ActivityFailedException):
        run.wait_for_completion(show_output=True)
    assert shared.log(run) == every + "grüß".encode()
    assert "grüß" in capsys.readouterr().out
    assert run.get_details()["error"]["error"]["message"]


def test_a_daemon_ends_with_its_run(shared):
    pid_file = shared.root / "daemon-of-a-good-run"
    code = (
        "import os, sys, time\n"
        "if os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n"
        "        open(sys.argv[1] + '.new', 'w').write(str(os.getpid()))\n"
        "        os.rename(sys.argv[1] + '.new', sys.argv[1])\n        time.sleep(600)\n    os._exit(0)\n"
        "while not os.path.exists(sys.argv[1]): time.sleep(0.01)\n"
    )
    run = shared.submit(code, arguments=[pid_file])
    run.wait_for_completion()
    assert run.get_status() == "Completed"
    assert not is_alive(int(pid_file.read_text()))


def test_five_hundred_files(shared):
    code = (
        "import os\nfor n in range(500):\n    os.makedirs(f'outputs/{n % 7}', exist_ok=True)\n"
        "    open(f'outputs/{n % 7}/{n}.txt', 'w').write(str(n))\n"
    )
    run = shared.submit(code)
    run.wait_for_completion()
    names = [name for name in run.get_file_names() if name.startswith("outputs/")]
    assert sorted(names) == sorted(f"outputs/{n % 7}/{n}.txt" for n in range(500))
    run.download_files(prefix="outputs", output_directory=str(shared.root / "five-hundred"))
    found = {path.name: path.read_text() for path in (shared.root / "five-hundred").rglob("*.txt")}
    assert found == {f"{n}.txt": str(n) for n in range(500)}


def test_odd_things_in_outputs(shared):
    """Links that lead nowhere or out, a pipe, a socket, a name that is no text: what can be kept is kept."""
    code = (
        "import os, socket\nopen('outputs/good', 'w').write('kept')\nos.symlink('/nowhere', 'outputs/dangling')\n"
        "os.mkfifo('outputs/pipe')\nsocket.socket(socket.AF_UNIX).bind('outputs/socket')\n"
        "open(b'outputs/\\xff\\xfe', 'w').write('odd')\nos.symlink('.', 'outputs/loop')\n"
        "open('outputs/' + 'n' * 255, 'w').write('long')\nos.chmod('outputs/good', 0)\n"
    )
    run = shared.submit(code)
    run.wait_for_completion()
    assert {"outputs/good", "outputs/" + "n" * 255} <= set(run.get_file_names())


def test_outputs_removed_or_replaced_by_the_script(shared):
    run = shared.submit(
        "import shutil\nshutil.rmtree('outputs')\nshutil.rmtree('logs')\nopen('outputs', 'w').close()\n"
    )
    run.wait_for_completion()
    assert run.get_status() == "Completed"


def test_a_run_longer_than_it_may_be(shared):
    config = shared.config("import time\nprint('up', flush=True)\ntime.sleep(600)\n", None, 1, ())
    config.run_config.max_run_duration_seconds = 1
    from azureml.core import Experiment

    error = error_of(Experiment(shared.workspace, "faults").submit(config))
    assert "max_run_duration_seconds=1" in error["message"]


def test_an_interpreter_that_is_not_there(shared):
    config = shared.config("print(1)\n", None, 1, ())
    config.run_config.environment.python.interpreter_path = "/nowhere/python"
    from azureml.core import Experiment

    error = error_of(Experiment(shared.workspace, "faults").submit(config))
    assert "/nowhere/python" in error["message"]


def test_a_stopped_script_is_still_canceled(shared):
    pid_file = shared.root / "stopped"
    code = (
        "import os, signal, sys\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "open(sys.argv[1] + '.new', 'w').write(str(os.getpid()))\nos.rename(sys.argv[1] + '.new', sys.argv[1])\n"
        "os.kill(os.getpid(), signal.SIGSTOP)\nimport time\ntime.sleep(600)\n"
    )
    run = shared.submit(code, arguments=[pid_file])
    pid = int(until(lambda: pid_file.exists() and pid_file.read_text()))
    run.cancel()
    run.wait_for_completion()
    assert run.get_status() == "Canceled"
    assert not is_alive(pid)


def test_a_script_that_closes_its_output(shared):
    run = shared.submit("import os\nprint('said', flush=True)\nos.close(1)\nos.close(2)\n")
    run.wait_for_completion()
    assert shared.log(run) == b"said\n"


def test_many_metrics_from_many_processes(shared):
    """Forks and threads of one job, each with numbers of its own: every one is there once."""
    code = (
        "import os, threading\nfrom azureml.core import Run\nrun = Run.get_context()\nrun.log('first', 1)\n"
        "def work(name):\n    for n in range(2000): run.log(name, n)\n"
        "for child in range(3):\n    if os.fork() == 0:\n        work(f'fork{child}')\n        os._exit(0)\n"
        "threads = [threading.Thread(target=work, args=(f'thread{n}',)) for n in range(3)]\n"
        "[t.start() for t in threads]\n[t.join() for t in threads]\n"
        "for _ in range(3): os.wait()\n"
    )
    run = shared.submit(code)
    run.wait_for_completion()
    metrics = run.get_metrics()
    assert metrics.pop("first") == 1
    assert sorted(metrics) == ["fork0", "fork1", "fork2", "thread0", "thread1", "thread2"]
    assert all(values == list(range(2000)) for values in metrics.values())


def test_a_child_of_the_script_that_is_killed(shared):
    """Only the script itself counts."""
    code = (
        "import os, signal, time\npid = os.fork()\nif pid == 0: time.sleep(600)\n"
        "os.kill(pid, signal.SIGKILL)\nprint(os.wait()[1])\n"
    )
    run = shared.submit(code)
    run.wait_for_completion()
    assert shared.log(run) == b"9\n"
