"""Which commit a source directory is at, in the properties the SDK put on runs."""

from __future__ import annotations

import os
import subprocess

_TIMEOUT_S = 2.0


def git_state(source: str) -> dict[str, str]:
    """Commit, branch, repository and whether anything in `source` differs from the commit; {} where there is no git, or
    where git does not answer soon."""
    if not _in_repository(source):
        return {}
    # Untracked files count as a difference: the commit alone would not give the run its code back.
    status = _start(source, "status", "--porcelain=v2", "--branch", "--", ".")
    origin = _start(source, "config", "--get", "remote.origin.url")
    lines, url = _answer(status), _answer(origin)
    if lines is None:
        return {}
    head = dict(line[2:].split(" ", 1) for line in lines.splitlines() if line.startswith("# "))
    commit = head.get("branch.oid", "")
    if commit in ("", "(initial)"):
        return {}
    branch = head.get("branch.head", "")
    branch = "HEAD" if branch == "(detached)" else branch
    dirty = any(not line.startswith("#") for line in lines.splitlines())
    uri = _without_credentials((url or "").strip())
    state = {
        "azureml.git.repository_uri": uri,
        "mlflow.source.git.repoURL": uri,
        "azureml.git.branch": branch,
        "mlflow.source.git.branch": branch,
        "azureml.git.commit": commit,
        "mlflow.source.git.commit": commit,
        "azureml.git.dirty": str(dirty),
    }
    return {name: value for name, value in state.items() if value}


def _without_credentials(uri: str) -> str:
    scheme, separator, rest = uri.partition("://")
    host, slash, path = rest.partition("/")
    user, at, host = host.rpartition("@")
    if not separator or not at:
        return uri
    # over http a token can stand in the user's place; elsewhere the name before a password belongs to the address
    user = "" if scheme in ("http", "https") else user.partition(":")[0] + "@"
    return f"{scheme}://{user}{host}{slash}{path}"


def _in_repository(source: str) -> bool:
    folder = os.path.realpath(source)
    while not os.path.exists(os.path.join(folder, ".git")):
        above = os.path.dirname(folder)
        if above == folder:
            return False
        folder = above
    return True


def _start(source: str, *arguments: str) -> subprocess.Popen[str] | None:
    # no locks and no monitor: looking must neither disturb the user's own git nor start programs
    argv = ["git", "--no-optional-locks", "-c", "core.fsmonitor=false", "-C", source, *arguments]
    try:
        return subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            errors="replace",
        )
    except OSError:
        return None


def _answer(process: subprocess.Popen[str] | None) -> str | None:
    if process is None:
        return None
    with process:
        try:
            said, _ = process.communicate(timeout=_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            return None
    return said if process.returncode == 0 else None
