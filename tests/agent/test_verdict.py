from __future__ import annotations

import errno

import pytest

from trainyard.agent.verdict import (
    Ended,
    has_raised,
    of_agent,
    of_process,
    of_start,
    of_torchrun,
    was_taken_along,
)
from trainyard.contract.errors import DiskFull, EnvironmentRefused


@pytest.mark.parametrize(
    ("code", "lines", "memory_ran_out", "expected"),
    [
        (1, ("Traceback", "ValueError: x"), False, "UserScriptFailed"),
        (1, ("MemoryError",), False, "OutOfMemory"),
        (1, ("OSError: [Errno 28] No space left on device",), False, "DiskFull"),
        (1, ("RuntimeError: ProcessGroupNCCL is only supported with GPUs, no GPUs found!",), False, "NoGpu"),
        (1, ("torch.distributed.DistBackendError: Duplicate GPU detected : rank 1 and rank 0",), False, "SharedGpu"),
        (1, ("tensorflow.python.framework.errors_impl.UnknownError: Could not start gRPC server",), False, "PortTaken"),
        (1, ("OSError: [Errno 30] Read-only file system: '/data/x'",), False, "ReadOnly"),
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


def test_the_last_lines_may_have_found_no_room_on_a_full_disk() -> None:
    error = of_process(Ended(0, 1, (), "log"), 0, memory_ran_out=False, disk_is_full=True)
    assert error is not None
    assert error.code == "DiskFull"
    killed = of_process(Ended(0, -11, (), "log"), 0, memory_ran_out=False, disk_is_full=True)
    assert killed is not None
    assert killed.code == "UserScriptKilled"


def test_a_log_with_nothing_in_it_is_not_pointed_at() -> None:
    error = of_process(Ended(0, 3, (), "log"), 0, memory_ran_out=False)
    assert error is not None
    assert error.message == "The script ended with exit code 3. It wrote nothing: have it print more."


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
        (OSError(errno.EADDRINUSE, "x"), "PortTaken"),
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


def test_a_process_group_left_open_is_told_of() -> None:
    error = of_process(Ended(0, -6, ("terminate called without an active exception",), "log"), 0, memory_ran_out=False)
    assert error is not None
    assert error.code == "UserScriptKilled"
    assert "destroy_process_group()" in error.message


@pytest.mark.parametrize(("node", "code"), [(0, "PortTaken"), (1, "TorchrunFailed")])
def test_a_port_where_torchruns_meet_can_be_taken(node: int, code: str) -> None:
    lines = ("torch.distributed.elastic.rendezvous.api.RendezvousConnectionError: The connection to the C10d store",)
    assert of_torchrun(1, lines, "log", node).code == code


@pytest.mark.parametrize(
    ("lines", "raised"),
    [
        (("hello", "Traceback (most recent call last):", '  File "x.py", line 1', "ValueError: x"), True),
        (("Traceback (most recent call last):", '  File "x.py", line 1', "ValueError: x", "went on"), False),
        (("Traceback (most recent call last):", '  File "x.py", line 1', "    half of"), False),
        (("Traceback (most recent call last):",), False),
        (("ValueError: x",), False),
        ((), False),
    ],
)
def test_a_log_that_ends_with_an_error_of_pythons(lines: tuple[str, ...], raised: bool) -> None:
    assert has_raised(lines) is raised


def test_who_was_taken_along_says_so() -> None:
    assert was_taken_along(
        (
            "...",
            "HorovodInternalError: Horovod has been shut down. This was caused by",
        )
    )
    assert not was_taken_along(("ValueError: x",))


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
