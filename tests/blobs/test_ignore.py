"""Which files a snapshot leaves out."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from trainyard.blobs.files import FileStore
from trainyard.blobs.snapshot import read_manifest, take
from trainyard.contract.attempts import JobContext


@pytest.fixture
def store(tmp_path: Path) -> FileStore:
    return FileStore(str(tmp_path / "store"))


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "source"
    folder.mkdir()
    return folder


def kept(store: FileStore, source: Path) -> list[str]:
    """What a look takes; a second one, with what the first remembered, takes the same."""
    cache = str(source.parent / "cache")
    first, second = take(str(source), store, cache), take(str(source), store, cache)
    assert first.id == second.id
    return [entry.path for entry in read_manifest(store, second.id)]


def make(source: Path, *names: str, **texts: str) -> None:
    for name in names:
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_text("")


def test_what_nobody_wants(store: FileStore, source: Path) -> None:
    make(
        source,
        "train.py",
        "docs/index.md",
        ".git/HEAD",
        ".azureml/config.json",
        ".ipynb_checkpoints/a.ipynb",
        "azureml-logs/70_driver_log.txt",
        "azureml-setup/x",
        "outputs/model.pkl",
        "pkg/outputs/kept.txt",
        "pkg/__pycache__/a.pyc",
        ".trainyard/token",
        "env/pyvenv.cfg",
        "env/lib/site.py",
    )
    assert kept(store, source) == ["docs/index.md", "pkg/outputs/kept.txt", "train.py"]


def test_amlignore_decides_alone(store: FileStore, source: Path) -> None:
    make(source, "a.py", "a.csv", "b.txt", "data/x.csv", "data/keep.csv", "pkg/notes.txt")
    (source / ".amlignore").write_text("# data\n*.csv\n!keep.csv\n/b.txt\n")
    (source / ".gitignore").write_text("*.py\n")
    (source / "pkg/.gitignore").write_text("*\n")
    expected = [".amlignore", ".gitignore", "a.py", "data/keep.csv", "pkg/.gitignore", "pkg/notes.txt"]
    assert kept(store, source) == expected


def test_gitignore_counts_for_its_folder(store: FileStore, source: Path) -> None:
    make(source, "a.log", "a.py", "pkg/a.log", "pkg/keep.log", "pkg/gen/x", "pkg/deep/gen/x", "build/x", "src/build/x")
    (source / ".gitignore").write_text("*.log\n/build/\n")
    (source / "pkg/.gitignore").write_text("!keep.log\n/gen\n")
    expected = [".gitignore", "a.py", "pkg/.gitignore", "pkg/deep/gen/x", "pkg/keep.log", "src/build/x"]
    assert kept(store, source) == expected


def test_an_ignore_file_that_changes_is_heard(store: FileStore, source: Path) -> None:
    make(source, "a.csv", "pkg/b.csv", "pkg/c.py")
    assert kept(store, source) == ["a.csv", "pkg/b.csv", "pkg/c.py"]
    (source / ".gitignore").write_text("*.csv\n")
    assert kept(store, source) == [".gitignore", "pkg/c.py"]
    (source / "pkg/.gitignore").write_text(".gitignore\nc.py\n!b.csv\n")  # it ignores itself, and still counts
    assert kept(store, source) == [".gitignore", "pkg/b.csv"]
    (source / "pkg/.gitignore").write_text(".gitignore\n")
    assert kept(store, source) == [".gitignore", "pkg/c.py"]
    (source / ".amlignore").write_text("")
    assert kept(store, source) == [".amlignore", ".gitignore", "a.csv", "pkg/.gitignore", "pkg/b.csv", "pkg/c.py"]
    (source / ".amlignore").write_text("!outputs\n")
    make(source, "outputs/start.pt")
    assert "outputs/start.pt" in kept(store, source)


def test_a_pattern_for_folders_does_not_hit_a_file_that_takes_the_name(store: FileStore, source: Path) -> None:
    make(source, "a.py", "cache/x")
    (source / ".amlignore").write_text("cache/\n")
    assert kept(store, source) == [".amlignore", "a.py"]
    (source / "cache/x").unlink()
    (source / "cache").rmdir()
    make(source, "cache")
    assert kept(store, source) == [".amlignore", "a.py", "cache"]


def test_a_folder_that_becomes_a_virtual_environment_goes(store: FileStore, source: Path) -> None:
    make(source, "a.py", "env/lib/x.py")
    assert kept(store, source) == ["a.py", "env/lib/x.py"]
    make(source, "env/pyvenv.cfg")
    assert kept(store, source) == ["a.py"]
    (source / "env/pyvenv.cfg").unlink()
    assert kept(store, source) == ["a.py", "env/lib/x.py"]


IN_A_JOB = """
import sys
sys.path[:] = [path for path in sys.path if "site-packages" not in path]
from trainyard.blobs.files import FileStore
from trainyard.blobs.snapshot import take
from trainyard.contract.errors import SnapshotRefused
try:
    print(take(sys.argv[1], FileStore(sys.argv[2])).files, sys.path[-1])
except SnapshotRefused as error:
    print(error)
"""


def test_in_a_job_the_reader_of_ignore_files_is_found_last_on_the_path(source: Path, tmp_path: Path) -> None:
    """A job's interpreter has no pathspec of its own."""
    import pathspec

    import trainyard

    make(source, "a.py", "b.csv")
    (source / ".amlignore").write_text("*.csv\n.amlignore\n")
    extra = tmp_path / "extra"
    extra.mkdir()
    (extra / "pathspec").symlink_to(Path(pathspec.__file__).parent)
    context = JobContext(
        *("run", 1, "attempt", "w", "yard", "s", "g", "first", "e", None, None),
        spool=str(tmp_path),
        working=str(source),
        last_on_path=str(extra),
    )
    context.write(str(tmp_path / "job.json"))

    def taken(**variables: str) -> str:
        variables["PYTHONPATH"] = str(Path(trainyard.__file__).parent.parent)
        argv = [sys.executable, "-S", "-c", IN_A_JOB, str(source), str(tmp_path / "store")]
        done = subprocess.run(argv, capture_output=True, text=True, env=variables)
        return done.stdout.strip() + done.stderr

    assert taken(TRAINYARD_JOB=str(tmp_path / "job.json")) == f"1 {extra}"
    assert taken().endswith("Install it with `pip install pathspec`.")
