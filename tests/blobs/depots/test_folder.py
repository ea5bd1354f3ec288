import pytest

from trainyard.blobs.depots.folder import FolderDepot
from trainyard.contract.errors import DataChanged, DataRefused
from trainyard.testing.depot_kit import DepotKit


class TestFolder(DepotKit):
    @pytest.fixture
    def depot(self, tmp_path):
        (tmp_path / "depot").mkdir()
        return FolderDepot(str(tmp_path / "depot"))


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(DataRefused, match="There is no folder"):
        FolderDepot(str(tmp_path / "no")).check()
    FolderDepot(str(tmp_path / "new")).check(create=True)
    assert (tmp_path / "new").is_dir()


def test_a_file_that_changes_while_it_is_read_is_noticed(tmp_path):
    file = tmp_path / "file"
    file.write_bytes(b"x" * (3 << 20))
    blocks = FolderDepot(str(tmp_path)).read("file")
    next(blocks)
    with file.open("ab") as more:
        more.write(b"more")
    with pytest.raises(DataChanged, match="changed while it was read"):
        list(blocks)


def test_links_are_followed_and_not_in_circles(tmp_path):
    (tmp_path / "depot/sub").mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/far").write_text("x")
    (tmp_path / "depot/near").write_text("x")
    (tmp_path / "depot/out").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "depot/sub/round").symlink_to(tmp_path / "depot/sub")
    (tmp_path / "depot/sub/gone").symlink_to(tmp_path / "never")
    depot = FolderDepot(str(tmp_path / "depot"))
    assert [file.path for file in depot.list("")] == ["near", "out/far"]


def test_the_service_does_not_follow_links_out_of_the_folder(tmp_path):
    (tmp_path / "depot").mkdir()
    (tmp_path / "token").write_text("secret")
    (tmp_path / "depot/link").symlink_to(tmp_path / "token")
    (tmp_path / "depot/out").symlink_to(tmp_path)
    (tmp_path / "depot/file").write_text("x")
    depot = FolderDepot(str(tmp_path / "depot"), confined=True)
    assert [file.path for file in depot.list("")] == ["file"]
    for look in (lambda: list(depot.read("link")), lambda: depot.look("out/token"), lambda: list(depot.list("out"))):
        with pytest.raises(DataRefused, match="a link out of"):
            look()
    with pytest.raises(DataRefused, match="a link out of"):
        depot.put("out/new", str(tmp_path / "token"))
    depot.delete("link")
    assert (tmp_path / "token").read_text() == "secret"
