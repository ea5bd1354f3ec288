"""What the controller of a sweep costs for each child: deciding, creating its run and noting its end, all of it
committed to a database file. Beside it, Optuna's ask and tell on its own SQLite storage."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
import warnings

from measure import Row, show

from trainyard.blobs.files import FileStore
from trainyard.contract.runs import EnvironmentSpec, RunSpec
from trainyard.contract.states import RunState
from trainyard.contract.sweeps import Goal, NewSweep, Policy, Sampling, SweepSpec
from trainyard.contract.tape import TapeWriter
from trainyard.server.activity import Activity
from trainyard.server.computes.machine import this_machine
from trainyard.server.context import Context
from trainyard.server.db import Database
from trainyard.server.hub import Hub
from trainyard.server.identity.service import Authenticator, Kind, Principal
from trainyard.server.logs.service import LogStore
from trainyard.server.metrics import service as metrics
from trainyard.server.migrations import migrate
from trainyard.server.runs.moves import Writer
from trainyard.server.runs.records import run_row
from trainyard.server.scope import Scope
from trainyard.server.settings import Settings
from trainyard.server.sweeps import service
from trainyard.server.sweeps.conduct import Conductor
from trainyard.server.workspaces.service import NewWorkspace, create_workspace

CHILDREN = 200
SPACE = {"lr": ["uniform", [0.0, 1.0]], "momentum": ["uniform", [0.0, 1.0]], "units": ["choice", [[16, 32, 64]]]}
_LIFE = (RunState.PREPARING, RunState.QUEUED, RunState.STARTING, RunState.RUNNING, RunState.COMPLETED)
_OWNER = Principal("bench", Kind.OWNER)


def main() -> None:
    warnings.simplefilter("ignore")
    folder = tempfile.mkdtemp(prefix="sweep-")
    try:
        random = _ours(os.path.join(folder, "random"), Sampling.RANDOM, Policy.NONE)
        judged = _ours(os.path.join(folder, "judged"), Sampling.RANDOM, Policy.MEDIAN)
        learned = _ours(os.path.join(folder, "tpe"), Sampling.BAYESIAN, Policy.NONE)
        optuna_random = _optuna(folder, "RandomSampler")
        optuna_tpe = _optuna(folder, "TPESampler")
    finally:
        shutil.rmtree(folder)
    show(
        f"The controller of a sweep of {CHILDREN} children, per child, durable",
        [
            row
            for what, ours, peer, budget in (
                ("random sampling", random, optuna_random, 2),
                ("random sampling, median stopping", judged, optuna_random, 2),
                ("TPE", learned, optuna_tpe, None),
            )
            for row in (
                Row(what, ours[0], peer[0], budget=budget, over="Optuna, SQLite"),
                Row("  of it on the processor", ours[1], peer[1], budget=budget, over="Optuna, SQLite"),
            )
        ],
    )


def _ours(home: str, sampling: Sampling, policy: Policy) -> tuple[float, float]:
    """Milliseconds in the controller, per child, by the clock and on the processor. What children do is not counted."""
    context = _context(home)
    run = RunSpec(script="train.py", environment=EnvironmentSpec(user_managed=True, interpreter="python"))
    spec = SweepSpec(SPACE, "acc", Goal.MAXIMIZE, CHILDREN, 4, run, sampling, {"seed": 1}, policy)
    with context.db.write() as tx:
        workspace = create_workspace(tx, NewWorkspace("bench"), "bench", context.clock()).id
        new = NewSweep("bench", spec, "HD_bench")
        service.create_sweep(tx, context, _OWNER, workspace, new)
    conductor = Conductor(context)
    spent, busy, live, next_child = 0.0, 0.0, list[int](), 0
    while True:
        begun, began = time.perf_counter(), time.thread_time()
        open_sweeps = conductor.look()
        spent, busy = spent + time.perf_counter() - begun, busy + time.thread_time() - began
        if open_sweeps is None:
            break
        with context.db.read() as tx:
            started = len(service.get_sweep(tx, workspace, "HD_bench").children)
        live += range(next_child, started)
        next_child = started
        if live:
            _ends(context, workspace, live.pop(0), home)
    assert next_child == CHILDREN
    context.db.close()
    return spent / CHILDREN * 1e3, busy / CHILDREN * 1e3


def _ends(context: Context, workspace: str, index: int, home: str) -> None:
    """A child reports ten times and is over."""
    path = os.path.join(home, f"tape-{index}")
    tape = TapeWriter(path)
    for step in range(10):
        tape.number("acc", (index * 7919 % 100) / 100 + step / 1000)
    with open(path, "rb") as file:
        cells = file.read()
    with context.db.write() as tx:
        row = run_row(tx, workspace, f"HD_bench_{index}")
        metrics.apply_cells(tx, Scope(row.key, row.workspace_id, row.created_by), 1, "r0", 0, cells)
        writer = Writer(tx, context.authenticator, context.clock(), "bench")
        for state in _LIFE:
            row = writer.move(row, state, "benchmark")


def _context(home: str) -> Context:
    os.makedirs(home)
    settings = Settings(home=home, database_url=f"sqlite:///{home}/rows.db")
    db = Database(settings.database_url)
    migrate(db)
    hub = Hub()
    logs = LogStore(settings.folder("logs"), hub.notify)
    blobs = FileStore(settings.folder("blobs"))
    return Context(settings, db, blobs, logs, hub, Authenticator(db, b"bench"), this_machine(), {}, Activity())


def _optuna(folder: str, sampler: str) -> tuple[float, float]:
    """The same per trial: ask, suggest, tell."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    storage = f"sqlite:///{folder}/{sampler}.db"
    study = optuna.create_study(storage=storage, sampler=getattr(optuna.samplers, sampler)(seed=1))
    begun, began = time.perf_counter(), time.thread_time()
    for _ in range(CHILDREN):
        trial = study.ask()
        value = trial.suggest_float("lr", 0, 1) + trial.suggest_float("momentum", 0, 1)
        value += trial.suggest_categorical("units", [16, 32, 64])
        study.tell(trial, value)
    return (time.perf_counter() - begun) / CHILDREN * 1e3, (time.thread_time() - began) / CHILDREN * 1e3


if __name__ == "__main__":
    main()
