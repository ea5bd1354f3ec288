"""Why a node's processes ended, in a sentence that says what to do."""

from __future__ import annotations

import errno
import os
import signal
from collections.abc import Sequence
from dataclasses import dataclass

from trainyard.contract.errors import DiskFull, TrainyardError
from trainyard.contract.runs import RunError

_NO_MODULE = "ModuleNotFoundError: No module named "
_NO_RENDEZVOUS = "RendezvousConnectionError"
_TRACEBACK = "Traceback (most recent call last):"
# what Horovod, gloo, NCCL and TensorFlow say in a process when another one has gone
_OTHERS_GONE = (
    "Horovod has been shut down",
    "Connection closed by peer",
    "Connection reset by peer",
    "ncclRemoteError",
    "Socket closed",
)
_PORT_TAKEN = (
    "A port was already in use on the node: another program took it, or the script listens twice. Submit the "
    "run again, and use the ports the script is given (MASTER_PORT, TF_CONFIG) rather than fixed ones."
)


@dataclass(frozen=True)
class _Known:
    """What a program says at its end when this was the reason. `by_signal`: also of one that a signal ended."""

    code: str
    signs: tuple[str, ...]
    message: str
    by_signal: bool = False


_KNOWN = (
    _Known(
        "DiskFull",
        ("No space left on device",),
        "The disk filled up while the script ran. Free some space on it and submit again.",
        by_signal=True,
    ),
    _Known(
        "ReadOnly",
        ("Read-only file system",),
        "The script wrote to a place that it may only read, as mounted data is. Write to ./outputs or to an "
        "OutputFileDatasetConfig, or take the data with as_download(), which is a copy of the run's own.",
    ),
    _Known(
        "OutOfMemory",
        ("MemoryError",),
        "The script ran out of memory. Use smaller batches, load less data at once, or submit to a compute target "
        "whose nodes have more memory.",
        by_signal=True,
    ),
    _Known("PortTaken", ("Address already in use", "EADDRINUSE", "Could not start gRPC server"), _PORT_TAKEN),
    _Known(
        "NoGpu",
        ("ProcessGroupNCCL is only supported with GPUs", "have NCCL built in", "NCCL backend is not available"),
        "The script asked for NCCL, which works between GPUs, and found none here. Use the backend 'gloo' on "
        "CPUs (PyTorchConfiguration('Gloo') and init_process_group('gloo')), or a target with GPUs.",
    ),
    _Known(
        "SharedGpu",
        ("Duplicate GPU detected",),
        "NCCL works between GPUs, and processes of this run share one: they are more than the machine has GPUs. "
        "Use the backend 'gloo', or ask for no more processes than there are GPUs.",
    ),
    _Known(
        "UserScriptKilled",
        ("terminate called without an active exception",),
        "A native library ended the script because a thread of its own still ran, as torch's do at the end of a "
        "script that leaves its process group open. Call torch.distributed.destroy_process_group() before the end.",
        by_signal=True,
    ),
)


@dataclass(frozen=True)
class Ended:
    """One process that ended. `code` is negative for a signal, as Python counts."""

    rank: int
    code: int
    last_lines: tuple[str, ...]
    log: str
    user_managed: bool = False  # its interpreter was there before, and nothing was installed for the run
    image: str | None = None  # that its environment names, where it ran without a container all the same


def of_process(ended: Ended, node: int, *, memory_ran_out: bool, disk_is_full: bool = False) -> RunError | None:
    """None for success. `memory_ran_out`: the kernel killed something for memory while it ran. `disk_is_full`: its last
    lines may have found no room."""
    if ended.code == 0:
        return None
    code, message = _reason(ended, memory_ran_out, disk_is_full)
    return RunError(code, message, ended.code, node, ended.rank, ended.last_lines)


def _reason(ended: Ended, memory_ran_out: bool, disk_is_full: bool) -> tuple[str, str]:
    text = "\n".join(ended.last_lines)
    seen = {  # by the node, whatever the script could say
        "DiskFull": disk_is_full and ended.code > 0,
        "OutOfMemory": memory_ran_out and ended.code == -signal.SIGKILL,
    }
    for known in _KNOWN:
        said = any(sign in text for sign in known.signs) and (ended.code > 0 or known.by_signal)
        if said or seen.get(known.code, False):
            return known.code, known.message
    if ended.last_lines and ended.last_lines[-1].startswith(_NO_MODULE):
        module = ended.last_lines[-1].removeprefix(_NO_MODULE)
        return "UserScriptFailed", f"The run's interpreter has no module {module}. {_where_from(ended)}"
    if ended.code < 0:
        hint = _HINTS.get(-ended.code, _DEFAULT_HINT)
        return "UserScriptKilled", f"The script was killed by {_signal_name(-ended.code)}. {hint}"
    if ended.code in (126, 127) and not ended.last_lines:
        return "UserScriptFailed", (
            f"The command could not be run (exit code {ended.code}). Check its name and that it is executable."
        )
    why = f"The end of {ended.log} says why." if ended.last_lines else "It wrote nothing: have it print more."
    return "UserScriptFailed", f"The script ended with exit code {ended.code}. {why}"


def _where_from(ended: Ended) -> str:
    """Of a module that is missing."""
    listed = "list its package in environment.python.conda_dependencies, with user_managed_dependencies = False"
    if ended.user_managed and ended.image:
        return (
            f"The environment leaves its packages to the image {ended.image}, which was not used, as no Docker or "
            f"Podman engine answers here. Start one; or {listed}."
        )
    if ended.user_managed:
        said = f"The environment is user-managed, so nothing was installed: install it there, or {listed}."
    else:
        said = (
            "Give the run an environment that has it, or a user-managed one "
            "(environment.python.user_managed_dependencies = True), which is the interpreter you submit with."
        )
    return f"{said} A module of your own must be in the source directory."


def was_taken_along(lines: Sequence[str]) -> bool:
    """Whether a process that failed says, at its end, that it did so because another one was gone."""
    return any(sign in line for line in lines for sign in _OTHERS_GONE)


def has_raised(lines: Sequence[str]) -> bool:
    """Whether the last thing in a log is an error that Python ends with. Its process may go on for a while: Horovod
    waits at the exit, where it makes the others fail first."""
    *_, last = lines or ("",)
    begins = [at for at, line in enumerate(lines) if line == _TRACEBACK]
    within = lines[begins[-1] + 1 : -1] if begins else ()
    return bool(within) and not last.startswith(" ") and all(line.startswith(" ") for line in within)


def of_torchrun(code: int, lines: tuple[str, ...], log: str, node: int) -> RunError:
    """torchrun failed, and none of this node's processes did by itself: one elsewhere, or torchrun itself."""
    if lines and _NO_RENDEZVOUS in lines[-1] and node == 0:  # the processes of all nodes meet at a port of the first
        return RunError("PortTaken", _PORT_TAKEN, code, node, None, lines)
    if lines and lines[-1].endswith("No module named torch"):
        message = "The run's interpreter has no torch. Give the run an environment that lists it."
    elif code < 0:
        message = f"torchrun was killed by {_signal_name(-code)}, and its processes were ended. Submit the run again."
    else:
        message = f"torchrun ended with exit code {code}. The end of {log}, and the logs of the processes, say why."
    return RunError("TorchrunFailed", message, code, node, None, lines)


def of_mpirun(code: int, lines: tuple[str, ...], log: str, node: int) -> RunError:
    """mpirun failed, and none of this node's ranks did by itself: one elsewhere, or MPI itself."""
    if code < 0:
        message = f"mpirun was killed by {_signal_name(-code)}, and its ranks were ended. Submit the run again."
        return RunError("MpiFailed", message, code, node, None, lines)
    message = f"mpirun ended with exit code {code}. The end of {log}, and the logs of the ranks beside it, say why."
    return RunError("MpiFailed", message, code, node, None, lines)


def of_start(error: OSError, argv: list[str], node: int, rank: int) -> RunError:
    """A process that could not be started at all."""
    what = error.filename or argv[0]
    if error.errno == errno.ENOENT:
        message = f"{what} was not found on the node. Check the interpreter's path, or that the command is installed."
    elif error.errno == errno.EACCES:
        message = f"{what} is not executable on the node. Run `chmod +x` on it, or choose another interpreter."
    elif error.errno == errno.E2BIG:
        message = "The arguments and variables are too long for the system. Put them in a file in the source directory."
    else:
        message = f"{what} could not be started: {error.strerror}. Run it by hand on the node to see why."
    return RunError("ProcessNotStarted", message, None, node, rank)


def of_missing_script(script: str, node: int) -> RunError:
    message = (
        f"The script {script} is not in the run's snapshot. Check its name, and that .amlignore or .gitignore does not "
        "leave it out."
    )
    return RunError("ScriptNotFound", message, None, node)


def of_time_limit(seconds: int, node: int, ranks: Sequence[int] = ()) -> RunError:
    """`ranks`: of several, those that still ran here."""
    some = f" Of its processes {_listed(ranks)} on node-{node} had not ended by then." if ranks else ""
    message = (
        f"The run took longer than max_run_duration_seconds={seconds} and was ended.{some} Raise it in the run's "
        "configuration, or make the run shorter."
    )
    return RunError("TimeLimit", message, None, node, ranks[0] if ranks else None)


def _listed(ranks: Sequence[int]) -> str:
    named = ", ".join(map(str, ranks[:8])) + (" and others" if len(ranks) > 8 else "")
    return f"rank {named}" if len(ranks) == 1 else f"ranks {named}"


def of_agent(error: Exception, node: int) -> RunError:
    """The node itself could not do its part."""
    if isinstance(error, DiskFull) or (isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)):
        where = getattr(error, "filename", None)
        message = str(error) if isinstance(error, DiskFull) else DiskFull(str(where or "the run's files")).message
        return RunError("DiskFull", message, None, node)
    if isinstance(error, TrainyardError):
        return RunError(error.code, error.message, None, node)
    if isinstance(error, OSError) and error.errno == errno.EADDRINUSE:  # where mpirun was to reach this node
        return RunError("PortTaken", _PORT_TAKEN, None, node)
    message = f"The agent failed: {type(error).__name__}: {error}. Its log on the node says more; submit again."
    return RunError("AgentFailed", message, None, node)


def memory_kills() -> int:
    """How many processes the kernel has killed for memory since it started."""
    try:
        with open("/proc/vmstat", "rb") as file:
            return next((int(line[9:]) for line in file if line.startswith(b"oom_kill ")), 0)
    except OSError:
        return 0


_HINTS: dict[int, str] = {
    signal.SIGSEGV: "A native library crashed: check the versions of the packages that load one (`python -X "
    "faulthandler` shows where).",
    signal.SIGILL: "A package was built for another processor: install one built for this one.",
    signal.SIGBUS: "Shared memory or a mapped file went away: check /dev/shm and the disk.",
    signal.SIGKILL: "Somebody on the node, or the kernel for lack of memory, ended it: see the node's system log.",
}
_DEFAULT_HINT = "The end of its log may say why."


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def script_exists(working: str, script: str) -> bool:
    return os.path.isfile(os.path.join(working, script))
