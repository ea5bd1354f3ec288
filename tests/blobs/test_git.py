"""The commit a source directory is at, with the real git."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from trainyard.blobs.git import git_state


def git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=A", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false"]
    argv = ["git", "-C", str(folder), *identity, *arguments]
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "trunk")
    (folder / "src").mkdir()
    (folder / "src/train.py").write_text("1")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "first")
    return folder


def test_commit_branch_and_repository(repository: Path) -> None:
    git(repository, "remote", "add", "origin", "https://user:secret@example.com/team/code.git")
    commit = git(repository, "rev-parse", "HEAD")
    assert git_state(str(repository / "src")) == {
        "azureml.git.repository_uri": "https://example.com/team/code.git",
        "mlflow.source.git.repoURL": "https://example.com/team/code.git",
        "azureml.git.branch": "trunk",
        "mlflow.source.git.branch": "trunk",
        "azureml.git.commit": commit,
        "mlflow.source.git.commit": commit,
        "azureml.git.dirty": "False",
    }


def test_dirty_by_a_change_and_by_a_new_file(repository: Path) -> None:
    (repository / "src/new.py").write_text("2")
    assert git_state(str(repository / "src"))["azureml.git.dirty"] == "True"
    (repository / "src/new.py").unlink()
    (repository / "src/train.py").write_text("22")
    assert git_state(str(repository / "src"))["azureml.git.dirty"] == "True"


def test_no_remote_and_no_branch(repository: Path) -> None:
    git(repository, "checkout", "-q", "--detach")
    state = git_state(str(repository))
    assert state["azureml.git.branch"] == "HEAD"
    assert "azureml.git.repository_uri" not in state


def test_another_working_tree_of_the_repository(repository: Path, tmp_path: Path) -> None:
    git(repository, "worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    assert git_state(str(tmp_path / "side" / "src"))["azureml.git.branch"] == "side"


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("git@example.com:team/code.git", "git@example.com:team/code.git"),
        ("https://token@example.com/a@b.git", "https://example.com/a@b.git"),
        ("https://example.com:8443/code", "https://example.com:8443/code"),
        ("ssh://git@example.com/code", "ssh://git@example.com/code"),
        ("ssh://git:pass@example.com:22/code", "ssh://git@example.com:22/code"),
        ("/srv/code.git", "/srv/code.git"),
    ],
)
def test_credentials_are_not_kept(repository: Path, given: str, kept: str) -> None:
    git(repository, "remote", "add", "origin", given)
    assert git_state(str(repository))["azureml.git.repository_uri"] == kept


def test_nothing_where_there_is_nothing_to_say(tmp_path: Path) -> None:
    assert git_state(str(tmp_path)) == {}
    assert git_state(str(tmp_path / "nowhere")) == {}
    git(tmp_path, "init", "-q")
    assert git_state(str(tmp_path)) == {}  # no commit yet
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken/.git").write_text("gitdir: /no/such/folder\n")
    assert git_state(str(tmp_path / "broken")) == {}
