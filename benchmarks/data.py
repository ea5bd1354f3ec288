"""Many small files and one large one, into a datastore and to a run, beside cp, shutil and fsspec; a column of a large
Parquet set beside pyarrow alone."""

from __future__ import annotations

import argparse
import contextlib
import itertools
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

from measure import Row, seconds, show, side_by_side
from scratch import Scratch, scratch

from azureml.core import Dataset
from trainyard.blobs.depots.cache import DataCache
from trainyard.blobs.depots.folder import FolderDepot
from trainyard.blobs.depots.resolve import resolve
from trainyard.blobs.depots.web import WebDepot
from trainyard.contract.data import DatasetDefinition, DataSource

_numbers = itertools.count()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=5000)
    parser.add_argument("--size", type=int, default=4000, help="bytes per small file")
    parser.add_argument("--large", type=int, default=1000, help="MB of the one large file, and of the Parquet set")
    parser.add_argument("--web-files", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    root = tempfile.mkdtemp(prefix="data-benchmark-")
    try:
        with scratch() as yard:
            small = make_small(os.path.join(root, "small"), given.files, given.size)
            measure_folder(yard, f"{given.files:,} small files", small, given.rounds)
            measure_mount(yard, given.files, given.rounds)
            large = make_large(os.path.join(root, "large"), given.large)
            measure_folder(yard, f"one file of {given.large:,} MB", large, given.rounds)
            measure_column(root, given.large, given.rounds)
        measure_web(root, given.web_files, given.size)
    finally:
        shutil.rmtree(root)


def measure_folder(yard: Scratch, what: str, source: str, rounds: int) -> None:
    """A folder into the datastore, and out of it into a run's own folder."""
    store = yard.workspace.get_default_datastore()
    top = os.path.join(yard.folder, "copies")
    os.makedirs(top, exist_ok=True)

    def place() -> str:
        return os.path.join(top, str(next(_numbers)))

    def upload() -> None:
        store.upload(source, f"data/{next(_numbers)}", show_progress=False)

    store.upload(source, "data/source", show_progress=False)
    made = Dataset.File.from_files((store, "data/source"))
    peers: dict[str, Callable[[], object]] = {
        "cp -r": lambda: subprocess.run(["cp", "-r", source, place()], check=True),
        "shutil.copytree": lambda: shutil.copytree(source, place()),
    }
    with contextlib.suppress(ImportError):
        import fsspec

        local = fsspec.filesystem("file", auto_mkdir=True)
        peers["fsspec put"] = lambda: local.put(source, place(), recursive=True)
    ours, out, *theirs = side_by_side(rounds, upload, lambda: made.download(place()), *peers.values())
    rows = [Row("uploaded", _median(ours), _median(it), over=name) for name, it in zip(peers, theirs, strict=True)]
    rows += [Row("downloaded", _median(out), _median(it), over=name) for name, it in zip(peers, theirs, strict=True)]
    show(what, rows)
    shutil.rmtree(top)


def measure_mount(yard: Scratch, files: int, rounds: int) -> None:
    """What a run waits for: a folder is itself, a glob becomes a folder of links once and is there the next time."""
    store = yard.workspace.get_default_datastore()
    depot = FolderDepot(store._record.path)
    cache = DataCache(os.path.join(yard.folder, "cache"), 1 << 40)
    glob = DatasetDefinition("file", (DataSource("data/source/**/*.bin", store.name),))

    def mount() -> None:
        cache.view(resolve(glob, lambda _: depot)).close()

    first = seconds(mount)
    again = statistics.median(seconds(mount) for _ in range(rounds))
    script = yard.script("look", "import os, sys; print(len(os.listdir(sys.argv[1])))")
    from azureml.core import Environment, Experiment, ScriptRunConfig

    mine = Environment("mine")
    mine.python.user_managed_dependencies = True
    dataset = Dataset.File.from_files((store, "data/source"))
    times = []
    for _ in range(2):
        given = [dataset.as_named_input("data").as_mount()]
        config = ScriptRunConfig(os.path.dirname(script), os.path.basename(script), given, environment=mine)
        run = Experiment(yard.workspace, "bench").submit(config)
        run.wait_for_completion()
        lines = list(yard.lines(run, "azureml-logs/65_job_prep-node-0.txt"))
        times.append(float(next(line for line in lines if line.startswith("Input data")).rsplit(" ", 2)[1]))
    show(
        f"mounting {files:,} files that are on this machine",
        [
            Row("a glob, first time", first * 1e3),
            Row("a glob, second time", again * 1e3, budget=50),
            Row("a folder, in a run", times[0] * 1e3, budget=50),
            Row("a folder, in the second run", times[1] * 1e3, budget=50),
        ],
    )


def measure_column(root: str, megabytes: int, rounds: int) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder = os.path.join(root, "parquet")
    os.makedirs(folder)
    rows = megabytes * 1_000_000 // 8 // 20 // 4
    chance = random.Random(1)
    columns = {f"c{number}": pa.array([chance.random() for _ in range(1000)] * (rows // 1000)) for number in range(20)}
    for number in range(4):
        pq.write_table(pa.table(columns), f"{folder}/{number}.parquet", compression="none", use_dictionary=False)
    made = Dataset.Tabular.from_parquet_files(f"{folder}/*.parquet").keep_columns(["c7"])
    import pyarrow.dataset as pd

    def bare() -> None:
        pd.dataset(folder, format="parquet").to_table(columns=["c7"]).to_pandas()

    ours, theirs = side_by_side(rounds, made.to_pandas_dataframe, bare)
    size = sum(entry.stat().st_size for entry in os.scandir(folder)) / 1e6
    row = Row("one column of twenty", _median(ours), _median(theirs), over="pyarrow alone")
    show(f"a Parquet set of {size:,.0f} MB", [row])


def measure_web(root: str, files: int, size: int) -> None:
    """Fetched from a web server of this machine into the cache, and found there."""
    source = make_small(os.path.join(root, "web"), files, size)
    with _serving(source) as url:
        names = [os.path.relpath(os.path.join(at, it), source) for at, _, below in os.walk(source) for it in below]
        definition = DatasetDefinition("file", tuple(DataSource(f"{url}/{name}") for name in names))
        cache = DataCache(os.path.join(root, "web-cache"), 1 << 40)
        entries = resolve(definition, lambda _: WebDepot())
        first = seconds(lambda: cache.view(entries).close())
        again = seconds(lambda: cache.view(entries).close())
        rows = [Row("found again", again * 1e3, budget=50)]
        try:
            import fsspec

            web = fsspec.filesystem("http")
            out = os.path.join(root, "web-fsspec")
            os.makedirs(out)
            targets = [os.path.join(out, name.replace("/", "-")) for name in names]
            theirs = seconds(lambda: web.get([f"{url}/{name}" for name in names], targets))
            rows.insert(0, Row("fetched", first * 1e3, theirs * 1e3, over="fsspec http"))
        except ImportError:
            rows.insert(0, Row("fetched", first * 1e3))
    show(f"{files:,} small files from a web server", rows)


@contextlib.contextmanager
def _serving(folder: str) -> Iterator[str]:
    class Quiet(SimpleHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=folder))
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def make_small(folder: str, files: int, size: int) -> str:
    chance = random.Random(1)
    for number in range(files):
        if number % 100 == 0:
            os.makedirs(f"{folder}/part{number // 100}")
        with open(f"{folder}/part{number // 100}/{number}.bin", "wb") as file:
            file.write(chance.randbytes(size))
    return folder


def make_large(folder: str, megabytes: int) -> str:
    os.makedirs(folder)
    block = os.urandom(1_000_000)
    with open(f"{folder}/large.bin", "wb") as file:
        for _ in range(megabytes):
            file.write(block)
    return folder


def _median(times: list[float]) -> float:
    return statistics.median(times) * 1e3


if __name__ == "__main__":
    sys.exit(main())
