"""pip's requirements files, as users have them."""

import pytest

from trainyard.sdk.environments.conda_dependencies import CondaDependencies
from trainyard.sdk.environments.environment import Environment
from trainyard.sdk.environments.requirements_file import requirements_of
from trainyard.sdk.errors import UserErrorException
from trainyard.sdk.estimators.estimator import Estimator


def test_lines_go_on_comments_go_and_other_files_are_read_from_where_they_are_named(tmp_path):
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "base.txt").write_text("-c limits.txt\nidna\n")
    (tmp_path / "all.txt").write_bytes(
        b"\xef\xbb\xbf# all of it\r\n--index-url https://host/simple\r\n-r more/base.txt\r\n\r\nsix==1.16.0 \\\r\n"
        b"    --hash=sha256:aa \\\r\n    --hash=sha256:bb  # both\r\ngit+https://host/a.git#egg=a\r\n"
    )
    assert requirements_of(str(tmp_path / "all.txt")) == [
        "--index-url https://host/simple",
        f"--constraint {tmp_path}/more/limits.txt",
        "idna",
        "six==1.16.0 --hash=sha256:aa --hash=sha256:bb",
        "git+https://host/a.git#egg=a",
    ]


def test_what_cannot_be_read_is_named(tmp_path):
    (tmp_path / "round.txt").write_text("-r round.txt\n")
    (tmp_path / "picture.txt").write_bytes(b"\xff\xfe")
    (tmp_path / "lost.txt").write_text("-rnowhere.txt\n")
    for name, says in (
        ("round.txt", "read themselves by -r"),
        ("picture.txt", "not text in UTF-8"),
        ("lost.txt", "Cannot read the requirements .*nowhere.txt"),
    ):
        with pytest.raises(UserErrorException, match=says):
            Environment.from_pip_requirements("mine", str(tmp_path / name))


def test_a_conda_file_and_an_estimator_may_name_them(tmp_path):
    (tmp_path / "base.txt").write_text("six\n--pre\n")
    (tmp_path / "conda.yml").write_text("dependencies:\n- python=3.11\n- pip:\n  - -r base.txt\n  - idna\n")
    conda = CondaDependencies(str(tmp_path / "conda.yml"))
    assert list(conda.pip_packages) == ["six", "idna"]
    assert list(conda.pip_options) == ["--pre"]
    est = Estimator(str(tmp_path), compute_target="local", entry_script="t.py", pip_requirements_file="base.txt")
    assert list(est.conda_dependencies.pip_packages) == ["azureml-defaults", "six"]
    assert list(est.conda_dependencies.pip_options) == ["--pre"]
