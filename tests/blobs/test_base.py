"""Work in threads, and who waits for it."""

import concurrent.futures
import signal
import sys
import threading
import time
from types import FrameType

import pytest

from trainyard.blobs.base import in_threads


class Told(BaseException):
    pass


def waits_for_a_result(frame: FrameType | None) -> bool:
    """Whether the innermost frames are of a lock, and of a future's wait around it."""
    while frame is not None and frame.f_code.co_filename == threading.__file__:
        frame = frame.f_back
    return frame is not None and frame.f_code.co_filename == concurrent.futures._base.__file__


def test_a_signal_that_another_thread_takes_ends_the_wait() -> None:
    """The kernel may give it to any thread, and nothing interrupts the one that waits."""
    told, main = threading.Event(), threading.get_ident()

    def end(_number: int, _frame: object) -> None:
        told.set()
        raise Told

    def work(number: int) -> None:
        if number == 0:
            while not waits_for_a_result(sys._current_frames()[main]):
                time.sleep(0.001)
            signal.pthread_kill(threading.get_ident(), signal.SIGUSR1)
        assert told.wait(60)

    before = signal.signal(signal.SIGUSR1, end)
    try:
        with pytest.raises(Told):
            in_threads(work, range(64))
    finally:
        signal.signal(signal.SIGUSR1, before)


def test_what_fails_in_a_thread_is_raised() -> None:
    with pytest.raises(ZeroDivisionError):
        in_threads(lambda number: 1 // number, range(64))
    assert in_threads(str, range(64)) == [str(number) for number in range(64)]
