"""What the doctor looks at. Each check is a function from what is there to one line: how it is, and how to mend it."""

from __future__ import annotations

import contextlib
import os
import pathlib
import shutil
import socket
import sqlite3
import stat
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from trainyard import __version__
from trainyard.cli.output import human_size
from trainyard.contract.errors import TrainyardError
from trainyard.contract.service import understands
from trainyard.sdk.other_sdk import other_sdk
from trainyard.sdk.service import Home, Yard

OLDEST_PYTHON = (3, 11)
LITTLE_DISK = 2 * 10**9
NO_DISK = 100 * 10**6
NETWORK_FILESYSTEMS = {"nfs", "nfs4", "cifs", "smb3", "fuse.sshfs", "9p", "afs"}
TROUBLE = ("Traceback", "ERROR", "CRITICAL", "Error:")


class Level(StrEnum):
    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True)
class Check:
    name: str
    level: Level
    found: str
    mend: str = ""


def examine(yard: Yard, variables: Mapping[str, str]) -> list[Check]:
    """Every check that applies: those of the home only when the service is the embedded one."""
    checks = [python(), platform(), foreign_azureml()]
    if yard.home is None:
        checks.append(endpoint(yard, variables))
    else:
        home = yard.home
        on_home: tuple[Callable[[Home], Check], ...] = (folder, disk, token, database, service, port, guardian, log)
        checks += [check(home) for check in on_home]
        if home.running() is not None:
            checks += [answers(yard), version(home)]
    return [*checks, git(), gpus()]


def python() -> Check:
    found = f"{sys.version.split()[0]} at {sys.executable}"
    if sys.version_info >= OLDEST_PYTHON:
        return Check("python", Level.OK, found)
    return Check("python", Level.FAIL, found, "Trainyard needs Python 3.11 or later: install it in such a one.")


def platform() -> Check:
    system = os.uname().sysname
    if system == "Linux":
        return Check("platform", Level.OK, f"{system} {os.uname().release}")
    return Check("platform", Level.WARN, system, "Runs are supervised with Linux's means; use Linux or WSL.")


def foreign_azureml() -> Check:
    """Microsoft's own packages would be found instead of ours, or mixed with them."""
    found = other_sdk(sys.path)
    if not found:
        return Check("azureml-core", Level.OK, "not installed: `import azureml.core` is Trainyard's")
    return Check(
        "azureml-core",
        Level.FAIL,
        f"Microsoft's {', '.join(found)} is installed in this environment and has the same module names as Trainyard",
        f"Use a fresh virtual environment, or `pip uninstall -y {' '.join(found)}` and then "
        "`pip install --force-reinstall --no-deps trainyard`.",
    )


def endpoint(yard: Yard, variables: Mapping[str, str]) -> Check:
    if not variables.get("TRAINYARD_TOKEN"):
        return Check("endpoint", Level.FAIL, f"{yard.endpoint}, no token", "Set TRAINYARD_TOKEN to your token.")
    return answers(yard)


def folder(home: Home) -> Check:
    if not os.path.isdir(home.path):
        above = home.path
        while not os.path.exists(above):
            above = os.path.dirname(above)
        if os.path.isdir(above) and os.access(above, os.W_OK | os.X_OK):
            return Check("home", Level.OK, f"{home.path} (is made on first use)")
        return Check("home", Level.FAIL, f"{home.path} cannot be made: {above} is not a folder you can write to", _MOVE)
    if not os.access(home.path, os.R_OK | os.W_OK | os.X_OK):
        return Check("home", Level.FAIL, f"{home.path} is not yours to write", _MOVE)
    if stat.S_IMODE(os.stat(home.path).st_mode) & 0o077:
        return Check("home", Level.WARN, f"{home.path} can be read by others", f"chmod 700 {home.path}")
    if (kind := _filesystem(home.path)) in NETWORK_FILESYSTEMS:
        return Check("home", Level.WARN, f"{home.path} is on {kind}: locks there are not to be trusted", _MOVE)
    return Check("home", Level.OK, home.path)


_MOVE = "Set TRAINYARD_HOME to a folder of your own on a local disk."


def disk(home: Home) -> Check:
    place = home.path
    while not os.path.exists(place):
        place = os.path.dirname(place)
    free = shutil.disk_usage(place).free
    found = f"{free / 1e9:.1f} GB free"
    if free < NO_DISK:
        return Check("disk", Level.FAIL, found, f"Free some space on the disk that holds {place}.")
    if free < LITTLE_DISK:
        return Check("disk", Level.WARN, found, "Free some space before long trainings write their outputs.")
    return Check("disk", Level.OK, found)


def token(home: Home) -> Check:
    path = home.file("token")
    if not os.path.exists(path):
        return Check("token", Level.OK, "none yet (is made when the service first starts)")
    mode = stat.S_IMODE(os.stat(path).st_mode)
    if mode & 0o077:
        return Check("token", Level.FAIL, f"{path} can be read by others (mode {mode:o})", f"chmod 600 {path}")
    if os.path.getsize(path) == 0:
        return Check("token", Level.FAIL, f"{path} is empty", f"rm {path}; the next start makes a new one")
    return Check("token", Level.OK, "readable by its owner only")


def database(home: Home) -> Check:
    path = home.file("trainyard.db")
    if not os.path.exists(path):
        return Check("database", Level.OK, "none yet in the home")
    try:
        with contextlib.closing(sqlite3.connect(f"{pathlib.Path(path).as_uri()}?mode=ro", uri=True)) as connection:
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.Error as error:
        mend = "Restore it from a backup (docs/operating.md says how), or use another TRAINYARD_HOME."
        return Check("database", Level.FAIL, f"{path} cannot be read: {error}", mend)
    return Check("database", Level.OK, human_size(_with_journal(path)))


def _with_journal(path: str) -> int:
    """What was written last is beside the file, not in it yet."""
    parts = (path, f"{path}-wal")
    return sum(os.path.getsize(part) for part in parts if os.path.exists(part))


def service(home: Home) -> Check:
    running = home.running()
    if running is not None:
        return Check("service", Level.OK, f"process {running.pid} at {running.url}")
    if home.locked():
        return Check(
            "service",
            Level.WARN,
            "a service holds the lock but does not say where it is: it is starting or stopping",
            f"Look again in a moment. If it stays so, see the end of {home.file('service.log')}.",
        )
    return Check("service", Level.OK, "none runs (starts by itself when it is needed)")


def answers(yard: Yard) -> Check:
    try:
        status = yard.status()
    except TrainyardError as error:
        return Check("answers", Level.FAIL, error.message, f"See the end of its log ({_log_of(yard)}).")
    if status is None:
        return Check("answers", Level.WARN, "it stopped just now", "Ask again.")
    return Check("answers", Level.OK, f"yes: {status.active_runs} active runs")


def version(home: Home) -> Check:
    running = home.running()
    found = running.version if running else __version__
    if understands(found, __version__):
        return Check("version", Level.OK, f"service {found}, this {__version__}")
    return Check(
        "version",
        Level.FAIL,
        f"the service is {found} and this is {__version__}",
        "`trainyard stop`; the next call starts the new one.",
    )


def port(home: Home) -> Check:
    """A service comes back to the port it had; somebody else may sit there now."""
    try:
        with open(home.file("port"), encoding="ascii") as file:
            number = int(file.read())
    except (OSError, ValueError):
        return Check("port", Level.OK, "a free one is taken at the start")
    if home.locked():
        return Check("port", Level.OK, f"{number}, the service's")
    with socket.socket() as probe:
        if probe.connect_ex(("127.0.0.1", number)) != 0:
            return Check("port", Level.OK, f"{number} is free for the service")
    return Check(
        "port", Level.WARN, f"{number} is used by another program", "Nothing to do: the service will take another port."
    )


def guardian(home: Home) -> Check:
    """The process that starts agents on this machine and keeps hold of their processes."""
    if home.locked("guardian.lock"):
        return Check("guardian", Level.OK, "alive: it starts runs and ends what they leave")
    return Check("guardian", Level.OK, "none runs (starts with the first run)")


def log(home: Home) -> Check:
    path = home.file("service.log")
    try:
        with open(path, "rb") as file:
            file.seek(max(0, os.path.getsize(path) - 65_536))
            lines = file.read().decode("utf-8", "replace").splitlines()
    except OSError:
        return Check("service log", Level.OK, "none yet")
    troubled = [line.strip() for line in lines if any(word in line for word in TROUBLE)]
    if not troubled:
        return Check("service log", Level.OK, f"no error in {path}")
    return Check("service log", Level.WARN, f"last trouble: {troubled[-1][:200]}", f"See the end of {path}.")


def git() -> Check:
    if found := shutil.which("git"):
        return Check("git", Level.OK, found)
    return Check("git", Level.WARN, "not found", "Install git to have commits recorded with runs.")


def gpus() -> Check:
    if found := shutil.which("nvidia-smi"):
        return Check("gpu", Level.OK, found)
    return Check("gpu", Level.OK, "no nvidia-smi: runs here get no GPUs")


def _log_of(yard: Yard) -> str:
    return yard.home.file("service.log") if yard.home else f"on the machine of {yard.endpoint}"


def _filesystem(path: str) -> str:
    """The kind of filesystem that holds `path`; empty when this system does not say."""
    try:
        with open("/proc/mounts", encoding="utf-8") as file:
            mounts = [line.split()[1:3] for line in file]
    except OSError:
        return ""
    real = os.path.realpath(path)
    holding = [(len(place), kind) for place, kind in mounts if os.path.commonpath([place, real]) == place]
    return max(holding)[1] if holding else ""
