"""Files of this machine as a dataset: no service is needed."""

from __future__ import annotations

import pytest

from azureml.core import Dataset
from azureml.exceptions import UserErrorException

pytestmark = pytest.mark.usefixtures("own_cache")


@pytest.fixture
def files(tmp_path):
    (tmp_path / "data").mkdir()
    for name in ("1.txt", "22.txt"):
        (tmp_path / "data" / name).write_text(name)
    return Dataset.File.from_files(str(tmp_path / "data"))


@pytest.mark.parametrize("target", ["taken", "taken/below"])
def test_a_place_that_cannot_be_written_is_said(files, tmp_path, target):
    (tmp_path / "taken").write_text("a file is here")
    with pytest.raises(UserErrorException, match=r"taken.* cannot be written: .*Choose another target_path"):
        files.download(str(tmp_path / target))


def test_conditions_on_what_is_known_of_files(files):
    name = files.file_metadata("Name")
    assert files.filter(name == "1.txt").to_path() == ["/1.txt"]
    assert files.filter(name == None).to_path() == []  # noqa: E711 - as scripts write it
    assert files.filter(~name.is_null() & name.starts_with("2")).to_path() == ["/22.txt"]
