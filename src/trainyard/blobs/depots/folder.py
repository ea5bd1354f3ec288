"""A folder of this machine, or of a file system that this machine has mounted."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator

from trainyard.blobs.base import BLOCK, replacing
from trainyard.blobs.depots.base import Depot, checked_path
from trainyard.contract.data import DataFile
from trainyard.contract.errors import BadCredentials, DataChanged, DataRefused, NoSuchData


class FolderDepot(Depot):
    """`confined`: links that lead out of the folder are not followed. The service reads for others, who could put one
    there; whoever reads for himself may go where he may."""

    def __init__(self, root: str, *, confined: bool = False) -> None:
        self.root = os.path.abspath(root)
        self.key = f"folder:{self.root}"
        self._bounds = os.path.realpath(root) if confined else None

    def list(self, folder: str) -> Iterator[DataFile]:
        folder = checked_path(folder)
        yield from self._walk(self._where(folder), folder, ())

    def look(self, path: str) -> DataFile | None:
        path = checked_path(path)
        try:
            about = os.stat(self._where(path))
        except (FileNotFoundError, NotADirectoryError):
            return None
        return _file(path, about) if stat.S_ISREG(about.st_mode) else None

    def read(self, path: str, offset: int = 0, version: str = "") -> Iterator[bytes]:
        """A file that changes while it is read is noticed at its end."""
        where = self._where(checked_path(path))
        try:
            file = open(where, "rb", buffering=0)  # noqa: SIM115 - closed by the block below
        except (FileNotFoundError, IsADirectoryError, NotADirectoryError) as error:
            raise NoSuchData(f"There is no file {where}. Check its path.") from error
        except PermissionError as error:
            raise BadCredentials(f"{where} cannot be read by this user. Change its permissions.") from error
        with file:
            before = _file(path, os.fstat(file.fileno())).version
            if version and before != version:
                raise DataChanged(f"{where} has changed since it was looked at. Try again when it is written.")
            file.seek(offset)
            while data := file.read(BLOCK):
                yield data
            if _file(path, os.fstat(file.fileno())).version != before:
                raise DataChanged(f"{where} changed while it was read. Try again when it is written.")

    def put(self, path: str, file: str) -> None:
        where = self._where(checked_path(path))
        source = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
        try:
            with replacing(where) as target:
                copy(source, target)
                os.fchmod(target, 0o644)
        finally:
            os.close(source)

    def delete(self, path: str) -> None:
        try:
            path = checked_path(path)
            os.unlink(os.path.join(self._where(os.path.dirname(path)), os.path.basename(path)))
        except FileNotFoundError:
            return

    def check(self, *, create: bool = False) -> None:
        if create:
            os.makedirs(self.root, mode=0o700, exist_ok=True)
        if not os.path.isdir(self.root):
            raise DataRefused(f"There is no folder {self.root}. Make it, or mount the file system that has it.")
        if not os.access(self.root, os.R_OK | os.X_OK):
            raise BadCredentials(f"{self.root} cannot be read by this user. Change its permissions.")

    def local(self, path: str) -> str | None:
        return os.path.join(self.root, checked_path(path)) if path else self.root

    def _where(self, path: str) -> str:
        where = os.path.join(self.root, path) if path else self.root
        if not self._inside(where):
            raise DataRefused(f"{path!r} is a link out of the datastore's folder, which the service does not follow.")
        return where

    def _inside(self, where: str) -> bool:
        if self._bounds is None:
            return True
        real = os.path.realpath(where)
        return real == self._bounds or real.startswith(self._bounds + os.sep)

    def _walk(self, at: str, below: str, above: tuple[tuple[int, int], ...]) -> Iterator[DataFile]:
        """Sorted, so that the same files come in the same order everywhere. `above`: the folders that led here, so that
        a link to one of them is not gone round for ever."""
        try:
            with os.scandir(at) as entries:
                found = sorted(entries, key=lambda entry: entry.name)
        except (FileNotFoundError, NotADirectoryError):
            return
        except PermissionError as error:
            raise BadCredentials(f"{at} cannot be read by this user. Change its permissions.") from error
        for entry in found:
            path = f"{below}/{entry.name}" if below else entry.name
            try:
                if entry.is_symlink() and not self._inside(entry.path):
                    continue
                if entry.is_dir():
                    about = entry.stat()
                    if (here := (about.st_dev, about.st_ino)) not in above:
                        yield from self._walk(entry.path, path, (*above, here))
                elif entry.is_file() and not (entry.name.startswith(".") and entry.name.endswith(".new")):
                    yield _file(path, entry.stat())
            except FileNotFoundError:
                continue  # removed while we looked


def copy(source: int, target: int) -> None:
    """All of one open file into another, by the kernel where it can."""
    try:
        while os.copy_file_range(source, target, 1 << 30):
            pass
    except (OSError, AttributeError):
        os.lseek(source, 0, os.SEEK_SET)
        os.lseek(target, 0, os.SEEK_SET)
        os.ftruncate(target, 0)
        with os.fdopen(os.dup(source), "rb") as read, os.fdopen(os.dup(target), "wb") as written:
            shutil.copyfileobj(read, written, BLOCK)


def _file(path: str, about: os.stat_result) -> DataFile:
    version = f"{about.st_mtime_ns:x}-{about.st_size:x}-{about.st_ino:x}"
    return DataFile(path, about.st_size, version, about.st_mtime_ns)
