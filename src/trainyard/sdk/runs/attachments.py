"""Files that belong to what was logged: images, tables for charts. Giving one costs a write to this machine's disk and
waits for no network; a thread hands it on, or the job's agent does."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence

from trainyard.sdk.effects import note_once
from trainyard.sdk.errors import AzureMLException, ServiceException

_AT_EXIT_S = 30.0
_PAUSE_S = 0.5
_LEAST_S = 0.01


class Attachments:
    """`upload(names, paths)` gives files to the run. `carried_from` is the folder that the job's agent takes files
    from; None where there is no agent."""

    def __init__(self, upload: Callable[[Sequence[str], Sequence[str]], object], carried_from: str | None) -> None:
        self._upload = upload
        self._carried_from = carried_from
        self._folder: str | None = carried_from
        self._waiting: deque[tuple[str, str]] = deque()
        self._lock = threading.Lock()
        self._sender: threading.Thread | None = None

    def give(self, name: str, content: bytes) -> bool:
        """False when the disk refused it. Never raises."""
        try:
            path = self._keep(name, content)
        except OSError as error:
            note_once(f"{name} could not be kept: {error}. Free some space, or check the folder's owner.")
            return False
        self._waiting.append((name, path))
        if self._carried_from is None:
            self._send_soon()
        return True

    def _keep(self, name: str, content: bytes) -> str:
        """Whole or not there: the agent may look at any moment. Where none does, a name given again waits its turn."""
        folder = self._place() if self._carried_from is None else self._carried_from + ".part"
        os.makedirs(folder, exist_ok=True)
        part = os.path.join(folder, os.urandom(8).hex())
        with open(part, "wb") as file:
            file.write(content)
        if self._carried_from is None:
            return part
        path = os.path.join(self._carried_from, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        os.replace(part, path)
        return path

    def flush(self, timeout_s: float) -> bool:
        """True when all that was given is with the service."""
        ends = time.monotonic() + timeout_s
        while self._waiting:
            try:
                self._send_all(max(_LEAST_S, ends - time.monotonic()))
            except (ServiceException, OSError) as error:
                if time.monotonic() >= ends:
                    note_once(f"Files that were logged could not be sent yet: {error}")
                    return False
                time.sleep(_PAUSE_S)
        return True

    def _place(self) -> str:
        if self._folder is None:
            import atexit
            import tempfile

            self._folder = tempfile.mkdtemp(prefix="trainyard-files-")
            atexit.register(self._at_exit, os.getpid())
        return self._folder

    def _send_soon(self) -> None:
        if self._sender is None or not self._sender.is_alive():  # a forked child has none
            self._sender = threading.Thread(target=self.flush, args=(3600.0,), name="trainyard-files", daemon=True)
            self._sender.start()

    def _send_all(self, timeout_s: float) -> None:
        if not self._lock.acquire(timeout=timeout_s):
            return
        try:
            while self._waiting:
                name, path = self._waiting[0]
                try:
                    self._upload([name], [path])
                except FileNotFoundError:
                    note_once(f"{name} was removed from {os.path.dirname(path)} before it was sent. Log it again.")
                except (ServiceException, OSError):
                    raise  # it may go well later
                except AzureMLException as error:
                    note_once(f"{name} was refused: {error}")
                self._waiting.popleft()
                if self._carried_from is None:
                    with contextlib.suppress(FileNotFoundError):
                        os.unlink(path)
        finally:
            self._lock.release()

    def _at_exit(self, owner: int) -> None:
        if os.getpid() == owner and self._folder is not None and self.flush(_AT_EXIT_S):
            import shutil

            shutil.rmtree(self._folder, ignore_errors=True)
