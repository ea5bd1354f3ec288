from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from trainyard.contract.errors import EnvironmentRefused
from trainyard.contract.runs import EnvironmentSpec
from trainyard.environments.realize import realize


def own(interpreter: str | None) -> EnvironmentSpec:
    return EnvironmentSpec(user_managed=True, interpreter=interpreter)


def program(path: Path) -> Path:
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def test_a_users_own_interpreter_by_path_or_by_name(tmp_path: Path) -> None:
    found = program(tmp_path / "python3.99")
    said: list[str] = []
    assert realize(own(str(found)), str(tmp_path), "", said.append).interpreter == str(found)
    assert realize(own("python3.99"), str(tmp_path), str(tmp_path), said.append).interpreter == str(found)
    assert said[0] == f"Environment default-environment is user-managed: using {found}."


def test_without_a_name_it_is_the_paths_python(tmp_path: Path) -> None:
    found = program(tmp_path / "python3")
    assert realize(own(None), str(tmp_path), str(tmp_path), print).interpreter == str(found)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [("missing", "does not exist"), ("plain", "is not executable"), ("folder", "is not executable")],
)
def test_what_cannot_run_is_refused_with_the_way_out(tmp_path: Path, name: str, sentence: str) -> None:
    (tmp_path / "plain").write_text("")
    (tmp_path / "folder").mkdir()
    with pytest.raises(EnvironmentRefused, match=sentence) as refused:
        realize(own(str(tmp_path / name)), str(tmp_path), "", print)
    assert "interpreter_path" in str(refused.value)


def test_a_name_that_is_not_on_the_path(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentRefused, match="No program 'snake' on the job's PATH"):
        realize(own("snake"), str(tmp_path), str(tmp_path), print)


def test_a_bare_environment_is_made_once_and_has_no_packages(tmp_path: Path) -> None:
    interpreter = realize(EnvironmentSpec(), str(tmp_path), "", print).interpreter
    made = Path(interpreter).lstat().st_mtime_ns
    assert realize(EnvironmentSpec(), str(tmp_path), "", print).interpreter == interpreter
    assert Path(interpreter).lstat().st_mtime_ns == made
    script = "import sys, site; print(sys.prefix); print(len([p for p in sys.path if 'site-packages' in p]))"
    said = subprocess.run([interpreter, "-I", "-c", script], capture_output=True, text=True, check=True).stdout.split()
    assert said == [str(Path(interpreter).parent.parent), "1"]
    assert subprocess.run([interpreter, "-I", "-c", "import pytest"], capture_output=True, check=False).returncode == 1


def test_a_bare_environment_whose_python_went_away_is_made_again(tmp_path: Path) -> None:
    interpreter = Path(realize(EnvironmentSpec(), str(tmp_path), "", print).interpreter)
    interpreter.unlink()
    interpreter.symlink_to("/no/such/python")
    assert realize(EnvironmentSpec(), str(tmp_path), "", print).interpreter == str(interpreter)
    assert subprocess.run([interpreter, "-c", ""], check=False).returncode == 0
