"""What a signal interrupts: each in an interpreter of its own, since handlers belong to the whole process."""

import subprocess
import sys

import pytest

WAITS = """
import os, signal, threading
from trainyard.agent.signals import Signals, Told
signals = Signals()
happened = []
def other():
    {}
threading.Thread(target=other, daemon=True).start()
try:
    with signals.interruptible():
        signals.wait(lambda: happened)
    print('it happened')
except Told:
    print('told')
"""


@pytest.mark.parametrize(
    ("in_another_thread", "end"),
    [
        ("happened.append(1); os.kill(os.getpid(), signal.SIGCHLD)", "it happened"),
        ("signals.tell('enough')", "told"),
        # taken by this thread: nothing interrupts the main one
        ("signal.pthread_kill(threading.get_ident(), signal.SIGTERM)", "told"),
    ],
)
def test_a_wait_ends_with_what_it_waits_for_or_with_sigterm(in_another_thread: str, end: str) -> None:
    code = WAITS.format(in_another_thread)
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=True)
    assert said.stdout.split("\n")[0] == end
