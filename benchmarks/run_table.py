"""The run table ordered by a metric, and search, at 1,000, 10,000 and 100,000 runs and 1,500 metric names, by HTTP;
beside it MLflow's own store on SQLite, called in this process (no HTTP on its side). Then a chart of a million points,
beside MLflow's history of a tenth of them, and the memory of the service after all of it.
Run: python benchmarks/run_table.py [most runs] [most runs for MLflow]"""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import struct
import sys
import tempfile
import time
from collections.abc import Callable, Iterator

from measure import Row, show
from sqlalchemy import insert

from trainyard.contract.runs import NewRun
from trainyard.contract.search import RunSearch
from trainyard.contract.tape import CELL, FLOAT, NAME
from trainyard.sdk.service import Runs, Yard
from trainyard.server.db import Database
from trainyard.server.metrics.tables import metrics
from trainyard.server.migrations import migrate
from trainyard.server.runs.tables import run_labels, run_params, runs
from trainyard.server.workspaces.tables import experiments, workspaces

NAMES = 1500
EACH = 5  # metrics of a run: loss, and four of the others
PAGE_BUDGET_MS, CHART_BUDGET_MS = 20, 50
ROUNDS = 15
POINTS = 1_000_000
_CELL = struct.Struct("<BBHIqqd")
ASKED = {
    "first page, newest first": RunSearch(),
    "first page by metrics.loss": RunSearch(order_by=("metrics.loss asc",)),
    "first page by metrics.loss.max": RunSearch(order_by=("metrics.loss.max desc",)),
    "by metrics.loss of one experiment": RunSearch(experiments=("e7",), order_by=("metrics.loss asc",)),
    "metrics.loss < 0.001 and tags.team": RunSearch('metrics.loss < 0.001 and tags.team = "t1"'),
    "params.lr of a few": RunSearch("params.lr = 0.5"),
    "a metric that few have": RunSearch(order_by=("metrics.m1400 desc",)),
}


def main(most: int, most_of_mlflow: int) -> None:
    sizes = [size for size in (1_000, 10_000, 100_000) if size <= most]
    for size in sizes:
        with served(size) as (records, yard):
            peer = mlflow_pages(size) if size <= most_of_mlflow else {}
            show(f"{size:,} runs, {NAMES:,} metric names", [*table(records, peer)])
            show("of it, the service's own CPU time", [*cpu_times(records, yard)])
            if size == sizes[-1]:
                show(f"a chart of {POINTS:,} points", [chart(records)])
            print(
                f"memory of the service: {memory_mb(yard, 'VmRSS'):.0f} MB, at most {memory_mb(yard, 'VmHWM'):.0f} MB"
            )


def table(records: Runs, peer: dict[str, float]) -> Iterator[Row]:
    for what, search in ASKED.items():
        yield Row(
            what,
            timed(lambda search=search: records.search(search)),
            peer.get(what),
            budget=PAGE_BUDGET_MS,
            over="MLflow",
        )
    deep = page_in_the_middle(records)
    yield Row("page in the middle, by metrics.loss", timed(lambda: records.search(deep)), budget=PAGE_BUDGET_MS)


def cpu_times(records: Runs, yard: Yard) -> Iterator[Row]:
    """What a page costs the service, however busy the machine is."""
    for what, search in ASKED.items():
        before = cpu_s(yard)
        for _ in range(3 * ROUNDS):
            records.search(search)
        yield Row(what, (cpu_s(yard) - before) / (3 * ROUNDS) * 1000, budget=PAGE_BUDGET_MS)


def cpu_s(yard: Yard) -> float:
    with open(f"/proc/{pid_of(yard)}/stat", encoding="ascii") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def pid_of(yard: Yard) -> int:
    assert yard.home is not None
    running = yard.home.running()
    assert running is not None
    return running.pid


def page_in_the_middle(records: Runs) -> RunSearch:
    search = RunSearch(order_by=("metrics.loss asc",), limit=1000)
    for _ in range(50):
        following = records.search(search).next
        if following is None:
            break
        search = RunSearch(order_by=search.order_by, limit=1000, page=following)
    return RunSearch(order_by=search.order_by, page=search.page)


def chart(records: Runs) -> Row:
    made = records.create(NewRun("charts", run_id="chart"))
    name = _CELL.pack(NAME, 0, 1, 1, 0, 0, struct.unpack("<d", (4).to_bytes(8, "little"))[0])
    cells = name + b"\xffloss".ljust(CELL, b"\0")
    cells += b"".join(_CELL.pack(FLOAT, 0, 0, 1, at, at, random.random()) for at in range(POINTS))
    sent = 0
    while sent < len(cells):
        sent = records.send_tape(made.run_id, "t", sent, cells[sent : sent + (1 << 20)])
    taken = timed(lambda: records.chart(made.run_id, "loss", 2000))
    return Row("2,000 of them, through HTTP", taken, mlflow_history(), budget=CHART_BUDGET_MS, over="MLflow, a tenth")


def timed(work: Callable[[], object]) -> float:
    """The best of several, in ms: others use the machine too."""
    work()
    taken = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        work()
        taken.append((time.perf_counter() - began) * 1000)
    return min(taken)


@contextlib.contextmanager
def served(size: int) -> Iterator[tuple[Runs, Yard]]:
    """A service whose home has that many runs."""
    root = tempfile.mkdtemp(prefix="yard-")
    os.environ["TRAINYARD_HOME"] = root
    os.environ.pop("TRAINYARD_ENDPOINT", None)
    database = Database(f"sqlite:///{root}/trainyard.db")
    migrate(database)
    fill(database, size)
    database.close()
    yard = Yard.from_env(os.environ)
    try:
        yield yard.runs("w"), yard
    finally:
        yard.stop(everything=True)
        shutil.rmtree(root, ignore_errors=True)


def fill(database: Database, size: int) -> None:
    owner = {"workspace_id": "w", "created_by": "me"}
    random.seed(7)
    with database.write() as tx:
        blank = {"subscription_id": "", "resource_group": "", "location": "", "tags": {}, "created_ns": 1}
        tx.execute(insert(workspaces), {**owner, "name": "bench", **blank})
        rows = [{**owner, "experiment_id": f"x{at}", "name": f"e{at}", "tags": {}, "created_ns": 1} for at in range(20)]
        tx.execute(insert(experiments), [{**row, "last_number": 0} for row in rows])
        for start in range(0, size, 5_000):
            keys = range(start + 1, min(start + 5_000, size) + 1)
            tx.execute(insert(runs), [run_row(key, owner) for key in keys])
            tx.execute(insert(metrics), [row for key in keys for row in metric_rows(key, owner)])
            tx.execute(insert(run_labels), [label(key, owner) for key in keys])
            tx.execute(insert(run_params), [param(key, owner) for key in keys])


def run_row(key: int, owner: dict[str, str]) -> dict[str, object]:
    return {
        "key": key,
        **owner,
        "run_id": f"run-{key}",
        "experiment_id": f"x{key % 20}",
        "number": key,
        "state": "Completed",
        "reason": "done",
        "attempt": 1,
        "events": 1,
        "nodes": 1,
        "warnings": [],
        "tags": {"team": f"t{key % 10}"},
        "properties": {},
        "request": "r",
        "created_ns": key,
        "started_ns": key,
        "ended_ns": key,
    }


def metric_rows(key: int, owner: dict[str, str]) -> list[dict[str, object]]:
    names = ["loss", *(f"m{number}" for number in random.sample(range(NAMES - 1), EACH - 1))]
    value = random.random()
    common = {"count": 100, "last_ns": key, "last_kind": FLOAT, "tail_first": 0, "tail_bytes": 0}
    return [
        {"run_key": key, **owner, "name": name, "last": value, "min": value / 2, "max": value * 2, **common}
        for name in names
    ]


def label(key: int, owner: dict[str, str]) -> dict[str, object]:
    return {"run_key": key, **owner, "kind": "tag", "name": "team", "value": f"t{key % 10}"}


def param(key: int, owner: dict[str, str]) -> dict[str, object]:
    value = "0.5" if key % 200 == 0 else str(round(random.random(), 6))
    return {
        "run_key": key,
        **owner,
        "name": "lr",
        "value": value,
        "head": value,
        "number": float(value),
        "source": "argument",
    }


def memory_mb(yard: Yard, what: str) -> float:
    with open(f"/proc/{pid_of(yard)}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) / 1024 for line in file if line.startswith(what))


def mlflow_pages(size: int) -> dict[str, float]:
    """The same table in MLflow's SQLite store."""
    import logging

    logging.disable(logging.WARNING)
    from mlflow.entities import ViewType
    from mlflow.store.tracking.dbmodels import models as rows
    from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore

    folder = tempfile.mkdtemp(prefix="peer-")
    store = SqlAlchemyStore(f"sqlite:///{folder}/mlflow.db", folder)
    experiment = store.create_experiment("bench")
    random.seed(7)
    with store.engine.begin() as tx:
        for start in range(0, size, 5_000):
            keys = range(start + 1, min(start + 5_000, size) + 1)
            tx.execute(insert(rows.SqlRun), [mlflow_run(key, experiment, folder) for key in keys])
            tx.execute(insert(rows.SqlLatestMetric), [row for key in keys for row in mlflow_metrics(key)])
            tx.execute(
                insert(rows.SqlTag), [{"run_uuid": f"run{key}", "key": "team", "value": f"t{key % 10}"} for key in keys]
            )
            tx.execute(insert(rows.SqlParam), [{"run_uuid": f"run{key}", "key": "lr", "value": "0.1"} for key in keys])

    def page(text: str, *order: str) -> float:
        return timed_few(lambda: store.search_runs([experiment], text, ViewType.ACTIVE_ONLY, 50, list(order)))

    found = {
        "first page, newest first": page(""),
        "first page by metrics.loss": page("", "metrics.loss ASC"),
        "metrics.loss < 0.001 and tags.team": page("metrics.loss < 0.001 and tags.team = 't1'"),
    }
    store.engine.dispose()
    shutil.rmtree(folder, ignore_errors=True)
    return found


def mlflow_history() -> float:
    """All values of a metric of a tenth of the points: MLflow thins nothing out."""
    from mlflow.store.tracking.dbmodels import models as rows
    from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore

    folder = tempfile.mkdtemp(prefix="peer-")
    store = SqlAlchemyStore(f"sqlite:///{folder}/mlflow.db", folder)
    experiment = store.create_experiment("bench")
    common = {"run_uuid": "run1", "key": "loss", "is_nan": False}
    with store.engine.begin() as tx:
        tx.execute(insert(rows.SqlRun), [mlflow_run(1, experiment, folder)])
        points = [{**common, "value": at / 7, "timestamp": at, "step": at} for at in range(POINTS // 10)]
        tx.execute(insert(rows.SqlMetric), points)
    taken = timed_few(lambda: store.get_metric_history("run1", "loss"))
    store.engine.dispose()
    shutil.rmtree(folder, ignore_errors=True)
    return taken


def timed_few(work: Callable[[], object]) -> float:
    taken: list[float] = []
    while len(taken) < 3 and sum(taken) < 10_000:
        began = time.perf_counter()
        work()
        taken.append((time.perf_counter() - began) * 1000)
    return min(taken)


def mlflow_run(key: int, experiment: str, folder: str) -> dict[str, object]:
    return {
        "run_uuid": f"run{key}",
        "name": f"run{key}",
        "experiment_id": int(experiment),
        "user_id": "me",
        "status": "FINISHED",
        "start_time": key,
        "end_time": key,
        "lifecycle_stage": "active",
        "artifact_uri": folder,
    }


def mlflow_metrics(key: int) -> list[dict[str, object]]:
    names = ["loss", *(f"m{number}" for number in random.sample(range(NAMES - 1), EACH - 1))]
    value = random.random()
    common = {"timestamp": key, "step": 0, "is_nan": False}
    return [{"run_uuid": f"run{key}", "key": name, "value": value, **common} for name in names]


if __name__ == "__main__":
    given = [int(each) for each in sys.argv[1:]]
    main(given[0] if given else 100_000, given[1] if len(given) > 1 else 10_000)
