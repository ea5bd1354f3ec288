import hashlib
import os
import signal
import threading

import pytest
from files_server import serving

from trainyard.blobs.depots.cache import DataCache, digest_of_entries
from trainyard.blobs.depots.folder import FolderDepot
from trainyard.blobs.depots.resolve import Entry, resolve
from trainyard.blobs.depots.web import WebDepot
from trainyard.contract.data import DataFile, DatasetDefinition, DataSource
from trainyard.contract.errors import DataAway, DataChanged, DiskFull, NoSuchData

MUCH = 1 << 40


@pytest.fixture
def web():
    with serving() as files:
        yield files


@pytest.fixture
def cache(tmp_path):
    return DataCache(str(tmp_path / "cache"), MUCH, pauses=(0.0, 0.0))


def entries(web, *paths):
    definition = DatasetDefinition("file", tuple(DataSource(web.url + path) for path in paths))
    return resolve(definition, lambda _: WebDepot())


def contents(folder):
    found = {}
    for at, _, names in os.walk(folder):
        for name in names:
            with open(os.path.join(at, name), "rb") as file:
                found[name] = file.read()
    return found


def gets(web):
    return [path for method, path, _ in web.asked if method == "GET"]


def test_what_was_fetched_once_is_not_fetched_again(web, cache):
    web.content |= {"/a": b"one", "/b": b"two"}
    web.tags |= {"/a": '"1"', "/b": '"2"'}
    view = cache.view(entries(web, "/a", "/b"))
    assert contents(view.path) == {"a": b"one", "b": b"two"}
    assert os.stat(os.path.join(view.path, entries(web, "/a")[0].path)).st_mode & 0o222 == 0
    again = cache.view(entries(web, "/a", "/b"))
    alone = cache.view(entries(web, "/a"))
    assert again.path == view.path != alone.path
    assert sorted(gets(web)) == ["/a", "/b"]
    for it in (view, again, alone):
        it.close()


def test_new_content_is_a_new_view(web, cache):
    web.content["/a"], web.tags["/a"] = b"before", '"1"'
    before = cache.view(entries(web, "/a"))
    web.content["/a"], web.tags["/a"] = b"after", '"2"'
    after = cache.view(entries(web, "/a"))
    assert (contents(before.path), contents(after.path)) == ({"a": b"before"}, {"a": b"after"})
    before.close()
    after.close()


def test_without_a_version_it_is_fetched_each_time(web, cache):
    web.content["/a"] = b"one"
    first, second = cache.view(entries(web, "/a")), cache.view(entries(web, "/a"))
    assert first.path == second.path
    assert gets(web) == ["/a", "/a"]
    first.close()
    second.close()


def test_a_download_that_is_cut_goes_on_from_there(web, cache):
    body = os.urandom(300_000)
    web.content["/a"], web.tags["/a"], web.cut_after = body, '"1"', [100_000, 50_000]
    cache.view(entries(web, "/a")).close()
    ranges = [said for method, _, said in web.asked if method == "GET"]
    assert ranges[0] is None
    assert ranges[1].startswith("bytes=")
    assert len(ranges) == 3
    view = cache.view(entries(web, "/a"))
    assert hashlib.sha256(contents(view.path)["a"]).digest() == hashlib.sha256(body).digest()
    view.close()


def test_one_that_never_gets_through_is_told_and_goes_on_next_time(web, cache):
    body = os.urandom(100_000)
    web.content["/a"], web.tags["/a"], web.cut_after = body, '"1"', [40_000, 0, 0]
    with pytest.raises(DataAway, match="broke off"):
        cache.view(entries(web, "/a"))
    view = cache.view(entries(web, "/a"))
    assert contents(view.path) == {"a": body}
    assert web.asked[-1][2] == "bytes=40000-"
    view.close()


def test_a_file_that_changes_on_the_way_is_no_mixture(web, cache):
    web.content["/a"], web.tags["/a"] = b"x" * 100_000, '"1"'
    found = entries(web, "/a")
    web.tags["/a"] = '"2"'
    with pytest.raises(DataChanged):
        cache.view(found)
    assert not os.listdir(os.path.join(cache.root, "parts"))


def test_two_that_want_the_same_fetch_it_once(web, cache):
    web.content["/a"], web.tags["/a"] = os.urandom(2_000_000), '"1"'
    found = entries(web, "/a")
    paths, start = [], threading.Barrier(4)

    def want():
        start.wait()
        with cache.view(found) as view:
            paths.append(view.path)

    threads = [threading.Thread(target=want) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(paths) == 4
    assert len(set(paths)) == 1
    assert gets(web) == ["/a"]


def test_what_was_unused_longest_goes_first(web, tmp_path):
    for name in "abc":
        web.content[f"/{name}"], web.tags[f"/{name}"] = name.encode() * 1000, f'"{name}"'
    cache = DataCache(str(tmp_path / "cache"), 2500)
    views = {}
    for name in "ab":
        views[name] = cache.view(entries(web, f"/{name}"))
        views[name].close()
    cache.view(entries(web, "/a")).close()  # used again: b is older now
    views["c"] = cache.view(entries(web, "/c"))
    assert [os.path.isdir(views[name].path) for name in "abc"] == [True, False, True]
    views["c"].close()


def test_what_is_in_use_stays(web, tmp_path):
    for name in "abc":
        web.content[f"/{name}"], web.tags[f"/{name}"] = name.encode() * 1000, f'"{name}"'
    cache = DataCache(str(tmp_path / "cache"), 2500)
    held = [cache.view(entries(web, f"/{name}")) for name in "abc"]
    assert [contents(view.path) for view in held] == [{name: name.encode() * 1000} for name in "abc"]
    for view in held:
        view.close()


def test_local_files_are_linked_to_where_they_are(tmp_path, cache):
    (tmp_path / "data").mkdir()
    (tmp_path / "data/a").write_text("a")
    definition = DatasetDefinition("file", (DataSource("*", "store"),))
    found = resolve(definition, lambda _: FolderDepot(str(tmp_path / "data")))
    with cache.view(found) as view:
        assert os.readlink(os.path.join(view.path, "a")) == str(tmp_path / "data/a")
    cache.copy(found, str(tmp_path / "copy"))
    assert not (tmp_path / "copy/a").is_symlink()
    assert digest_of_entries(found) == digest_of_entries(list(found))


def test_a_local_file_that_changed_since_it_was_looked_at(tmp_path, cache):
    (tmp_path / "a").write_text("a")
    definition = DatasetDefinition("file", (DataSource("a", "store"),))
    found = resolve(definition, lambda _: FolderDepot(str(tmp_path)))
    (tmp_path / "a").write_text("other")
    with pytest.raises(DataChanged):
        cache.copy(found, str(tmp_path / "copy"))
    assert not (tmp_path / "copy/a").exists()


def test_a_full_disk_is_told_and_leaves_nothing(web, cache, monkeypatch):
    web.content["/a"], web.tags["/a"] = b"x" * 1000, '"1"'
    real = open

    def full(path, mode="r", *more, **options):
        if "a" in mode and "parts" in str(path):
            raise OSError(28, "No space left on device", path)
        return real(path, mode, *more, **options)

    monkeypatch.setattr("builtins.open", full)
    with pytest.raises(DiskFull, match="Free some space"):
        cache.view(entries(web, "/a"))
    monkeypatch.undo()
    assert os.listdir(os.path.join(cache.root, "views")) == []


def test_one_missing_file_ends_the_rest(web, cache):
    web.content |= {f"/{number}": b"x" for number in range(20)}
    found = entries(web, *web.content)
    del web.content["/7"]
    with pytest.raises(NoSuchData, match="/7"):
        cache.view(found)


class Endless:
    """A depot whose files never end, and never grow. Who begins to read one tells this process so."""

    key = "endless"

    def __init__(self):
        self.reading = threading.Semaphore(0)

    def local(self, path):
        return None

    def read(self, path, offset=0, version=""):
        self.reading.release()
        os.kill(os.getpid(), signal.SIGUSR1)
        while True:
            yield b""


def test_who_is_told_to_end_does_not_wait_for_the_rest(cache):
    depot = Endless()
    found = [Entry(str(number), depot, DataFile(str(number), -1, "v")) for number in range(4)]

    def tell(files, size):
        raise AssertionError("nothing is ever whole")

    class Told(BaseException):
        pass

    told = []

    def end(_number, _frame):
        told.append(1)
        if len(told) == 1:  # the others begin to read a moment later
            raise Told

    before = signal.signal(signal.SIGUSR1, end)
    try:
        with pytest.raises(Told):
            cache.view(found, tell)
        assert depot.reading.acquire(blocking=False)
        for thread in threading.enumerate():
            if thread.name.startswith("ThreadPool"):  # one that was just starting ends by itself
                thread.join(30)
                assert not thread.is_alive()
    finally:  # not before the last of them has told us: nobody else takes that signal
        signal.signal(signal.SIGUSR1, before)
