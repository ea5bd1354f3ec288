"""The disk fills up: it is said, nothing accepted is lost, the service lives, and with space again things go on."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from stead import Stead, is_alive, until

from azureml.exceptions import AzureMLException

SIZE = 24 << 20


@pytest.fixture
def small(stead: Stead) -> Iterator[Stead]:
    """A home on a disk of its own that is small. Where none can be mounted it is not, and the tests say less."""
    os.makedirs(stead.home.path)
    mount = ["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", stead.home.path]
    mounted = os.geteuid() == 0 and subprocess.run(mount, capture_output=True).returncode == 0
    try:
        yield stead
        stead.close()
    finally:
        if mounted:
            subprocess.run(["umount", "-l", stead.home.path], check=True)


def fill(stead: Stead) -> Callable[[], None]:
    """Leave no byte on the home's disk; answers what gives the space back."""
    ballast = Path(stead.home.file("ballast"))
    if not os.path.ismount(stead.home.path):
        return lambda: None
    with open(ballast, "wb", buffering=0) as file:
        for block in (1 << 20, 1 << 12, 1):
            try:
                while True:
                    file.write(b"\0" * block)
            except OSError:
                continue
    return lambda: ballast.unlink(missing_ok=True)


def test_submit_on_a_full_disk(small):
    """Refused with a sentence, or accepted and run later: never accepted and lost."""
    first = small.submit("print('before')\n")
    first.wait_for_completion()
    pid = small.service_pid()
    free = fill(small)
    accepted, refused = [], []
    for _ in range(3):
        try:
            accepted.append(small.submit("print('anyway')\n"))
        except AzureMLException as error:
            refused.append(str(error))
    assert all("No space left on the disk" in message for message in refused)
    free()
    assert is_alive(pid)
    assert small.service_pid() == pid
    assert small.log(first) == b"before\n"
    after = small.submit("print('after')\n")
    for run in (*accepted, after):
        run.wait_for_completion(raise_on_error=False)
    assert after.get_status() == "Completed"
    assert small.log(after) == b"after\n"
    made = [row[0] for row in small.rows("SELECT run_id FROM runs ORDER BY key")]
    assert made == [first.id, *(run.id for run in accepted), after.id]


def is_refused(run) -> bool:
    """Whether the service has come to feel it: its database has some room of its own at first."""
    try:
        run.tag("much", "x" * 200_000)
    except AzureMLException as error:
        return "No space left on the disk" in str(error)
    return False


def test_the_disk_fills_up_under_a_run(small):
    """What it had logged stays; the script's own trouble is the run's error."""
    code = (
        "import os, sys, time\nfrom azureml.core import Run\nrun = Run.get_context()\n"
        "for n in range(50): run.log('n', n)\nprint('ready', flush=True)\n"
        "while not os.path.exists(sys.argv[1]): time.sleep(0.02)\n"
        "open('outputs/big', 'wb', buffering=0).write(b'x' * 50_000_000)\n"
        "if os.stat('outputs/big').st_size < 50_000_000: raise OSError(28, 'No space left on device')\n"
    )
    go = small.root / "go"
    run = small.submit(code, arguments=[go])
    until(lambda: b"ready" in small.log(run))
    until(lambda: run.get_metrics() == {"n": list(range(50))})
    pid = small.service_pid()
    if os.path.ismount(small.home.path):
        go.write_text("")
        run.wait_for_completion(raise_on_error=False)
        assert run.get_status() == "Failed"
        assert "disk" in run.get_details()["error"]["error"]["message"].lower()
    else:
        run.cancel()
        run.wait_for_completion()
    assert small.service_pid() == pid
    assert run.get_metrics() == {"n": list(range(50))}
    again = small.submit("print('room again')\n")
    again.wait_for_completion()
    assert small.log(again) == b"room again\n"


def test_a_script_that_fills_the_disk_before_it_has_said_a_word(small):
    """Its traceback finds no room, nor does the service's note of its end, until the run's own files are gone."""
    if not os.path.ismount(small.home.path):
        pytest.skip("needs a disk of its own")
    code = (
        "with open('outputs/big', 'wb', buffering=0) as file:\n"
        "    while True:\n        assert file.write(b'x' * 1_000_000) == 1_000_000\n"
    )
    run = small.submit(code)
    run.wait_for_completion(raise_on_error=False)
    assert run.get_details()["error"]["error"]["code"] == "DiskFull"
    again = small.submit("print('room again')\n")
    again.wait_for_completion()
    assert small.log(again) == b"room again\n"


def test_a_full_disk_while_lines_and_metrics_come(small):
    """Those the script could write are there exactly once and in order when there is room again."""
    code = (
        "import os, sys, time\nfrom azureml.core import Run\nrun = Run.get_context()\nn = 0\n"
        "while not os.path.exists(sys.argv[1]):\n"
        "    try:\n        os.write(1, b'line %06d\\n' % n)\n    except OSError: pass\n"
        "    run.log('n', n)\n    n += 1\n    time.sleep(0.002)\n"
    )
    go = small.root / "go"
    run = small.submit(code, arguments=[go])
    until(lambda: b"line 000100" in small.log(run))
    pid = small.service_pid()
    free = fill(small)
    until(lambda: not os.path.ismount(small.home.path) or is_refused(run))
    free()
    seen = len(small.log(run))
    until(lambda: len(small.log(run)) > seen + 1000)
    go.write_text("")
    run.wait_for_completion()
    assert is_alive(pid)
    lines = small.log(run).decode().splitlines()
    numbers = [int(line.split()[1]) for line in lines if len(line) == 11 and line.startswith("line ")]
    assert numbers == sorted(set(numbers))
    assert numbers[:100] == list(range(100))
    values = run.get_metrics()["n"]
    assert values == sorted(set(values))
    assert values[:100] == list(range(100))
