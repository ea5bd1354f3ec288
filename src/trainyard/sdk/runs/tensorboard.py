"""Tensorboard: TensorBoard on this machine over the `./logs` of runs, which are fetched as they grow."""

from __future__ import annotations

import atexit
import os
import re
import subprocess
import sys
import threading
from collections.abc import Sequence
from typing import Any

from trainyard.contract.runs import RunFile
from trainyard.contract.states import TERMINAL
from trainyard.sdk.effects import note_once
from trainyard.sdk.errors import AzureMLException, UserErrorException
from trainyard.sdk.runs.run import Run

LOGS_DIR = "./logs"
_EVERY_S = 2.0
_PATIENCE_S = 60.0
_URL = re.compile(r"https?://\S+")
_BLOCK = 1 << 20


class Tensorboard:
    """`runs` is a run, a list of them, or [] to show what is in `local_root` already."""

    LOGS_ARTIFACT_PREFIX = os.path.normpath(LOGS_DIR) + "/"

    def __init__(
        self, runs: Any, local_root: str | None = None, port: int = 6006, use_display_name: bool = False
    ) -> None:
        self._runs = _as_list(runs)
        self._port = port
        self._root = os.path.abspath(local_root) if local_root else None
        self._mirrors: list[Mirror] = []
        self._use_display_name = use_display_name
        self._process: subprocess.Popen[str] | None = None
        self._url: str | None = None
        self._stopped = threading.Event()

    def start(self, start_browser: bool = False) -> str:
        """Prints and returns the address. Started already, it is returned again."""
        if self._process is not None and self._process.poll() is None and self._url is not None:
            print(self._url)
            return self._url
        _check_installed()
        if self._root is None:
            import tempfile

            self._root = tempfile.mkdtemp(prefix="trainyard-tensorboard-")
        os.makedirs(self._root, exist_ok=True)
        self._mirrors = [Mirror(run, os.path.join(self._root, self._folder(run))) for run in self._runs]
        for mirror in self._mirrors:
            mirror.update()
        self._url = self._launch(self._root)
        self._stopped.clear()
        threading.Thread(target=self._keep_up, name="trainyard-tensorboard", daemon=True).start()
        print(self._url)
        if start_browser:
            import webbrowser

            webbrowser.open(self._url)
        return self._url

    def stop(self) -> None:
        """Ends TensorBoard; what was fetched stays."""
        self._stopped.set()
        atexit.unregister(self.stop)
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.stderr is not None:
            self._process.stderr.close()
        self._process, self._url = None, None

    def _launch(self, root: str) -> str:
        port = _free_port(self._port)
        argv = [sys.executable, "-m", "tensorboard.main", "--logdir", root, "--host", "localhost", "--port", str(port)]
        self._process = subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        atexit.register(self.stop)
        found, said = _first_address(self._process, _PATIENCE_S)
        if found is None:
            self.stop()
            raise AzureMLException(
                f"TensorBoard did not come up within {_PATIENCE_S:.0f} s. The last lines it wrote:\n" + "".join(said)
            )
        return found

    def _keep_up(self) -> None:
        """Fetch what is new until every run is over."""
        going = list(self._mirrors)
        while going and not self._stopped.wait(_EVERY_S):
            for mirror in list(going):
                try:
                    if mirror.update():
                        going.remove(mirror)
                except (AzureMLException, OSError) as error:
                    note_once(f"TensorBoard's copy of run {mirror.run.id} is not up to date: {error}")

    def _folder(self, run: Run) -> str:
        if not self._use_display_name or not run.display_name:
            return run.id
        same = [other for other in self._runs if other.display_name == run.display_name]
        name = re.sub(r"[^\w. -]", "_", run.display_name).strip(". ") or run.id
        return name if len(same) == 1 else f"{name} {run.id}"


class Mirror:
    """A run's `logs/`, copied into a folder. Files that only grew are appended to: TensorBoard goes on reading them."""

    def __init__(self, run: Run, folder: str) -> None:
        self.run = run
        self.folder = folder
        self._seen: dict[str, tuple[int, str | None]] = {}

    def update(self) -> bool:
        """True when the run was over before we looked: nothing more will come."""
        os.makedirs(self.folder, exist_ok=True)
        over = self.run._fresh().state in TERMINAL
        for file in self.run._runs.files(self.run.id):
            if file.name.startswith(Tensorboard.LOGS_ARTIFACT_PREFIX) and self._seen.get(file.name) != _version(file):
                self._fetch(file)
                self._seen[file.name] = _version(file)
        return over

    def _fetch(self, file: RunFile) -> None:
        from trainyard.contract.names import check_file_name

        name = check_file_name(file.name[len(Tensorboard.LOGS_ARTIFACT_PREFIX) :])
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        fresh = f"{path}.part"
        self.run._fetch([(file, fresh)])
        have = _common_length(path, fresh)
        if have is None:
            os.replace(fresh, path)
            return
        with open(fresh, "rb") as source, open(path, "ab") as target:
            source.seek(have)
            while block := source.read(_BLOCK):
                target.write(block)
        os.unlink(fresh)


def _version(file: RunFile) -> tuple[int, str | None]:
    return file.size, file.digest


def _common_length(path: str, fresh: str) -> int | None:
    """The length of `path` when `fresh` begins with all of it; None when it does not."""
    try:
        with open(path, "rb") as old, open(fresh, "rb") as new:
            while block := old.read(_BLOCK):
                if new.read(len(block)) != block:
                    return None
            return old.tell()
    except FileNotFoundError:
        return None


def _as_list(runs: Any) -> list[Run]:
    found = [runs] if isinstance(runs, Run) else list(runs or [])
    if wrong := [run for run in found if not isinstance(run, Run)]:
        raise UserErrorException(f"Tensorboard shows runs, not a {type(wrong[0]).__name__}.")
    return found


def _check_installed() -> None:
    import importlib.util

    if importlib.util.find_spec("tensorboard") is None:
        raise UserErrorException("TensorBoard is not installed here. Install it with: pip install tensorboard")


def _free_port(wanted: int) -> int:
    """The wanted port, or any when somebody has it: TensorBoard says which."""
    import socket

    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", wanted))
        except OSError:
            print(f"Port {wanted} is taken; TensorBoard takes another.")
            return 0
    return wanted


def _first_address(process: subprocess.Popen[str], patience_s: float) -> tuple[str | None, Sequence[str]]:
    """The address TensorBoard says it is at, and the last lines it wrote. What it writes later is read, too: a full
    pipe would hold it up."""
    assert process.stderr is not None
    stream, lines, address = process.stderr, [""], []
    seen = threading.Event()

    def read() -> None:
        for line in stream:
            if not seen.is_set():
                lines.append(line)
                if " at http" in line and (found := _URL.search(line)):
                    address.append(found[0])
                    seen.set()
        seen.set()

    threading.Thread(target=read, name="tensorboard-output", daemon=True).start()
    seen.wait(patience_s)
    return (address[0] if address else None), lines[-10:]
