"""First and second snapshot of a directory of many small files, one of them changed; beside git and rsync."""

from __future__ import annotations

import argparse
import itertools
import os
import random
import shutil
import statistics
import subprocess
import tempfile
from collections.abc import Callable

from measure import Row, seconds, show, side_by_side

from trainyard.blobs.files import FileStore
from trainyard.blobs.git import git_state
from trainyard.blobs.snapshot import materialise, take


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--per-folder", type=int, default=100)
    parser.add_argument("--size", type=int, default=2_000, help="bytes per file")
    parser.add_argument("--rounds", type=int, default=11)
    given = parser.parse_args()
    root = tempfile.mkdtemp(prefix="snapshot-benchmark-")
    try:
        measure(root, given.files, given.per_folder, given.size, given.rounds)
    finally:
        shutil.rmtree(root)


def measure(root: str, files: int, per_folder: int, size: int, rounds: int) -> None:
    source = os.path.join(root, "source")
    changed = make_source(source, files, per_folder, size)
    store, cache = FileStore(os.path.join(root, "store")), os.path.join(root, "cache")
    first = seconds(lambda: take(source, store, cache))
    git = Git(source, os.path.join(root, "git"))
    first_git = seconds(git.write_tree)
    take(source, store, cache)  # once more: files made a moment before the first look are read again

    counter = itertools.count()

    def change() -> None:
        with open(changed, "w", encoding="ascii") as file:
            file.write(f"{next(counter)}")

    others: dict[str, Callable[[], object]] = {"git add, write-tree": git.write_tree, "git status": git.status}
    if shutil.which("rsync"):
        mirror = os.path.join(root, "mirror")
        others["rsync -a"] = lambda: subprocess.run(["rsync", "-a", f"{source}/", mirror], check=True)
        others["rsync -a"]()
    ours, *theirs = side_by_side(rounds, lambda: take(source, store, cache), *others.values(), before=change)
    snapshot = take(source, store, cache)
    small = make_repository(os.path.join(root, "repository"))
    unchanged, state = side_by_side(rounds, lambda: take(source, store, cache), lambda: git_state(small))
    out, copied = side_by_side(
        3,
        lambda: materialise(store, snapshot.id, f"{root}/out{next(counter)}"),
        lambda: subprocess.run(["cp", "-r", source, f"{root}/copy{next(counter)}"], check=True),
    )
    rows = [Row("first", first * 1e3, first_git * 1e3, over="git add, write-tree")]
    for name, times in zip(others, theirs, strict=True):
        rows.append(Row("second, one file changed", _median(ours), _median(times), budget=60, over=name))
    rows.append(Row("nothing changed", _median(unchanged), _median(theirs[1]), over="git status"))
    rows.append(Row("laid out on a node", _median(out), _median(copied), over="cp -r"))
    rows.append(Row("a small repository's commit and state", _median(state), budget=10))
    show(f"snapshots of {snapshot.files:,} files, {snapshot.bytes / 1e6:.0f} MB", rows)


def _median(times: list[float]) -> float:
    return statistics.median(times) * 1e3


class Git:
    """A repository beside the source, so that the source has no .git."""

    def __init__(self, source: str, folder: str) -> None:
        self._git = ["git", f"--git-dir={folder}", f"--work-tree={source}", "-c", "gc.auto=0"]
        self._run("init", "-q")

    def write_tree(self) -> None:
        self._run("add", "-A")
        self._run("write-tree")

    def status(self) -> None:
        self._run("status", "--porcelain", "-uno")

    def _run(self, *arguments: str) -> None:
        subprocess.run([*self._git, *arguments], check=True, stdout=subprocess.DEVNULL)


def make_repository(folder: str) -> str:
    os.makedirs(folder)
    with open(os.path.join(folder, "train.py"), "w", encoding="ascii") as file:
        file.write("print(1)")
    identity = ["-c", "user.name=bench", "-c", "user.email=bench@example.com"]
    for arguments in (["init", "-q"], ["add", "."], [*identity, "commit", "-q", "-m", "first"]):
        subprocess.run(["git", "-C", folder, *arguments], check=True)
    return folder


def make_source(source: str, files: int, per_folder: int, size: int) -> str:
    """Random files in folders two deep; answers the path of one of them."""
    chance = random.Random(1)
    path = ""
    for number in range(files):
        folder = number // per_folder
        if number % per_folder == 0:
            os.makedirs(f"{source}/part{folder % 10}/folder{folder}")
        path = f"{source}/part{folder % 10}/folder{folder}/module{number}.py"
        with open(path, "wb") as file:
            file.write(chance.randbytes(size))
    return path


if __name__ == "__main__":
    main()
