import pytest
from files_server import serving

from trainyard.blobs.depots import resolve as resolving
from trainyard.blobs.depots.folder import FolderDepot
from trainyard.blobs.depots.resolve import folder_of, resolve
from trainyard.blobs.depots.web import WebDepot
from trainyard.contract.data import DataFile, DatasetDefinition, DataSource
from trainyard.contract.errors import DataAway, DataRefused, NoSuchData


class Web:
    key = "web"

    def look(self, path):
        return DataFile(path, 1, "v")


@pytest.fixture
def depots(tmp_path):
    for name in ("one/a/1.csv", "one/a/2.csv", "one/a/deep/3.csv", "one/b/4.txt", "two/5.csv"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    found = {"one": FolderDepot(str(tmp_path / "one")), "two": FolderDepot(str(tmp_path / "two"))}
    return lambda source: Web() if source.is_web else found[source.datastore]


def paths(depots, *sources, steps=()):
    definition = DatasetDefinition("file", tuple(DataSource(path, store) for store, path in sources), steps=steps)
    return [entry.path for entry in resolve(definition, depots)]


def test_a_folder_a_file_and_a_glob(depots):
    assert paths(depots, ("one", "a")) == ["1.csv", "2.csv", "deep/3.csv"]
    assert paths(depots, ("one", "a/1.csv")) == ["1.csv"]
    assert paths(depots, ("one", "a/*.csv")) == ["1.csv", "2.csv"]
    assert paths(depots, ("one", "**/*.csv")) == ["a/1.csv", "a/2.csv", "a/deep/3.csv"]
    assert paths(depots, ("one", "")) == ["a/1.csv", "a/2.csv", "a/deep/3.csv", "b/4.txt"]


def test_several_sources_share_the_folder_they_have_in_common(depots):
    assert paths(depots, ("one", "a/1.csv"), ("one", "b")) == ["a/1.csv", "b/4.txt"]
    assert paths(depots, ("one", "a/1.csv"), ("one", "a/*.csv")) == ["1.csv", "2.csv"]
    assert paths(depots, ("one", "a/1.csv"), ("two", "5.csv")) == ["one/1.csv", "two/5.csv"]


def test_names_with_brackets_are_found(depots, tmp_path):
    for name in ("one/[old] set/1.csv", "one/copy[1].csv"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    assert paths(depots, ("one", "copy[1].csv")) == ["copy[1].csv"]
    assert paths(depots, ("one", "[old] set")) == ["1.csv"]
    assert paths(depots, ("one", "[ab]/4.txt")) == ["b/4.txt"]


def test_web_addresses_become_folders(depots):
    urls = ["https://data.example/mnist/a%20b.gz?x=1&y=../2", "http://data.example:80/../c.gz"]
    assert paths(depots, *[(None, url) for url in urls]) == [
        "https/data.example/mnist/a b.gz_x=1_y=.._2",
        "http/data.example_80/c.gz",
    ]


@pytest.mark.parametrize(("busy", "asked"), [(0, 1), (2, 3)])
def test_a_web_server_that_is_busy_is_asked_again(monkeypatch, busy, asked):
    monkeypatch.setattr(resolving, "PAUSES_S", (0, 0))
    with serving() as files:
        files.content["/a"] = b"content"
        source, files.busy = DataSource(files.url + "/a"), busy
        (entry,) = resolve(DatasetDefinition("file", (source,)), lambda _: WebDepot())
        assert (entry.file.size, len(files.asked)) == (7, asked)
        files.busy = 3
        with pytest.raises(DataAway, match="HTTP 503"):
            resolve(DatasetDefinition("file", (source,)), lambda _: WebDepot())


def test_sources_without_files_move_no_others(depots):
    definition = DatasetDefinition("file", (DataSource("a/1.csv", "one"), DataSource("none/*", "one")))
    assert [entry.path for entry in resolve(definition, depots, missing_ok=True)] == ["1.csv"]


def test_nothing_there_is_told(depots):
    with pytest.raises(NoSuchData, match=r"'a/\*\.parquet' of datastore 'one' matches no file"):
        paths(depots, ("one", "a/*.parquet"))
    with pytest.raises(DataRefused, match="cannot be a path"):
        paths(depots, ("one", "../two"))


def test_steps_choose_among_files(depots):
    every = ("one", "**")
    assert paths(depots, every, steps=({"op": "skip", "count": 1}, {"op": "take", "count": 2})) == [
        "a/2.csv",
        "a/deep/3.csv",
    ]
    parts = [paths(depots, every, steps=({"op": "split", "percentage": 0.5, "seed": 7, "part": it},)) for it in (0, 1)]
    assert sorted(parts[0] + parts[1]) == ["a/1.csv", "a/2.csv", "a/deep/3.csv", "b/4.txt"]
    assert parts[0] == paths(depots, every, steps=({"op": "sample", "probability": 0.5, "seed": 7},))
    condition = ["and", ["gt", ["meta", "Size"], 8], ["ends", ["meta", "Name"], ".csv"]]
    assert paths(depots, every, steps=({"op": "filter", "expression": condition},)) == [
        "a/1.csv",
        "a/2.csv",
        "a/deep/3.csv",
    ]
    with pytest.raises(DataRefused, match="Files have no 'Colour'"):
        paths(depots, every, steps=({"op": "filter", "expression": ["eq", ["meta", "Colour"], 1]},))
    with pytest.raises(DataRefused, match="compares what cannot be compared: 11 with 'large'"):
        paths(depots, every, steps=({"op": "filter", "expression": ["gt", ["meta", "Size"], "large"]},))


def test_all_below_a_folder_is_the_folder(depots, tmp_path):
    depot = depots(DataSource("", "one"))
    for path in ("a", "a/", "a/**"):
        assert folder_of(DataSource(path, "one"), depot) == str(tmp_path / "one/a")
    assert folder_of(DataSource("**", "one"), depot) == str(tmp_path / "one")
    assert folder_of(DataSource("a/*", "one"), depot) is None
    assert folder_of(DataSource("a/1.csv", "one"), depot) is None
