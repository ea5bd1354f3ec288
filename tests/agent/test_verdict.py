from __future__ import annotations

import errno

import pytest

from trainyard.agent.verdict import Ended, of_agent, of_process, of_start
from trainyard.contract.errors import DiskFull, EnvironmentRefused


@pytest.mark.parametrize(
    ("code", "lines", "memory_ran_out", "expected"),
    [
        (1, ("Traceback", "ValueError: x"), False, "UserScriptFailed"),
        (1, ("MemoryError",), False, "OutOfMemory"),
        (1, ("OSError: [Errno 28] No space left on device",), False, "DiskFull"),
        (1, ("RuntimeError: ProcessGroupNCCL is only supported with GPUs, no GPUs found!",), False, "NoGpu"),
        (1, ("torch.distributed.DistBackendError: Duplicate GPU detected : rank 1 and rank 0",), False, "SharedGpu"),
        (-9, (), True, "OutOfMemory"),
        (-9, (), False, "UserScriptKilled"),
        (-11, (), True, "UserScriptKilled"),
        (127, (), False, "UserScriptFailed"),
    ],
)
def test_codes(code: int, lines: tuple[str, ...], memory_ran_out: bool, expected: str) -> None:
    error = of_process(Ended(2, code, lines, "log"), 1, memory_ran_out=memory_ran_out)
    assert error is not None
    assert (error.code, error.exit_code, error.node, error.rank, error.last_lines) == (expected, code, 1, 2, lines)


def test_success_is_no_error() -> None:
    assert of_process(Ended(0, 0, ("MemoryError",), "log"), 0, memory_ran_out=True) is None


@pytest.mark.parametrize(
    ("number", "words"), [(errno.ENOENT, "was not found"), (errno.EACCES, "chmod"), (errno.E2BIG, "too long")]
)
def test_what_could_not_be_started(number: int, words: str) -> None:
    assert words in of_start(OSError(number, "x", "/bin/p"), ["/bin/p"], 0, 0).message


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (DiskFull("/x"), "DiskFull"),
        (OSError(errno.ENOSPC, "x", "/x"), "DiskFull"),
        (EnvironmentRefused("no"), "environment.refused"),
        (KeyError("x"), "AgentFailed"),
    ],
)
def test_the_nodes_own_failures(error: Exception, code: str) -> None:
    assert of_agent(error, 0).code == code


def test_a_missing_package_is_told_where_it_may_come_from() -> None:
    lines = ("Traceback (most recent call last):", "ModuleNotFoundError: No module named 'sklearn'")
    error = of_process(Ended(0, 1, lines, "log"), 0, memory_ran_out=False)
    assert error is not None
    assert error.message.startswith("The run's interpreter has no module 'sklearn'. Give the run an environment")


def test_a_user_managed_environment_is_not_told_to_be_one() -> None:
    lines = ("ModuleNotFoundError: No module named 'fastai'",)
    own = of_process(Ended(0, 1, lines, "log", user_managed=True), 0, memory_ran_out=False)
    assert own is not None
    assert own.message == (
        "The run's interpreter has no module 'fastai'. The environment is user-managed, so nothing was installed: "
        "install it there, or list its package in environment.python.conda_dependencies, with "
        "user_managed_dependencies = False. A module of your own must be in the source directory."
    )
    of_image = of_process(
        Ended(0, 1, lines, "log", user_managed=True, image="fastdotai/fastai"), 0, memory_ran_out=False
    )
    assert of_image is not None
    assert of_image.message == (
        "The run's interpreter has no module 'fastai'. The environment leaves its packages to the image "
        "fastdotai/fastai, which was not used, as no Docker or Podman engine answers here. Start one; or list its "
        "package in environment.python.conda_dependencies, with user_managed_dependencies = False."
    )
