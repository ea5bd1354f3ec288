"""Several processes through us and bare: two MPI ranks against mpirun, two torch processes against torchrun, and the
start of sixteen nodes."""

from __future__ import annotations

import os
import socket
import statistics
import subprocess
import time
from collections.abc import Callable

from measure import Row, show
from scratch import PYTHON, Scratch, scratch

from azureml.core import Environment, Experiment, Run, ScriptRunConfig
from azureml.core.runconfig import MpiConfiguration, PyTorchConfiguration

TIMES = 7
STEPS = 1000  # long enough that a moment's work of anybody else is no part of the result
MPIRUN = [
    os.path.join(os.path.dirname(PYTHON), "mpirun"),
    "--allow-run-as-root",
    "--oversubscribe",
    "--bind-to",
    "none",
]
TRIVIAL = "import os\nprint(os.environ['OMPI_COMM_WORLD_RANK'])\n"
ALLREDUCE = """
import sys, time
import numpy as np
from mpi4py import MPI
world, data = MPI.COMM_WORLD, np.ones(250_000)
total = np.empty_like(data)
for _ in range(20): world.Allreduce(data, total)
world.Barrier()
begun = time.perf_counter()
for _ in range(int(sys.argv[1])): world.Allreduce(data, total)
world.Barrier()
if world.rank == 0: print('seconds', time.perf_counter() - begun, flush=True)
"""
DDP = """
import os, sys, time
import torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
torch.set_num_threads(1)
dist.init_process_group('gloo')
model = DistributedDataParallel(torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.Linear(512, 10)))
optimizer, data = torch.optim.SGD(model.parameters(), lr=0.01), torch.randn(64, 256)
def step():
    optimizer.zero_grad(); model(data).square().mean().backward(); optimizer.step()
for _ in range(20): step()
dist.barrier()
begun = time.perf_counter()
for _ in range(int(sys.argv[1])): step()
dist.barrier()
if dist.get_rank() == 0: print('seconds', time.perf_counter() - begun, flush=True)
os._exit(0)
"""


def main() -> None:
    with scratch(nodes=16) as yard:
        rows = [*_starts(yard), *_throughputs(yard)]
        script = yard.script("sixteen", "")
        many = [
            _timed(lambda: _through_us(yard, script, PyTorchConfiguration("Gloo", node_count=16))) for _ in range(3)
        ]
        rows.append(Row("16 nodes with one trivial process, submit to end", statistics.median(many) * 1e3))
    show("several processes", rows)


def _starts(yard: Scratch) -> list[Row]:
    script = yard.script("trivial", TRIVIAL)
    bare = [*MPIRUN, "-np", "2", PYTHON, script]
    apart = [*MPIRUN, *_apart(yard), PYTHON, script]
    taken: list[list[float]] = [[], [], [], []]
    for _ in range(TIMES):  # in turns: a busy moment of the machine hits all of them
        taken[0].append(_timed(lambda: subprocess.run(bare, check=True, capture_output=True)))
        taken[1].append(_timed(lambda: _through_us(yard, script, MpiConfiguration(2, 1))))
        taken[2].append(_timed(lambda: subprocess.run(apart, check=True, capture_output=True)))
        taken[3].append(_timed(lambda: _through_us(yard, script, MpiConfiguration(1, 2))))
    one, ours, two, ours_two = (statistics.median(times) * 1e3 for times in taken)
    return [
        Row("2 MPI ranks on a node, submit to end", ours, one, budget=one + 150, over="mpirun"),
        Row("2 MPI ranks on 2 nodes", ours_two, two, budget=two + 150, over="mpirun, 2 hosts, local shell"),
    ]


def _apart(yard: Scratch) -> list[str]:
    """Two hosts for a bare mpirun: a shell instead of ssh takes it to the second."""
    shell = os.path.join(yard.folder, "shell.sh")
    with open(shell, "w", encoding="utf-8") as file:
        file.write('#!/bin/sh\nshift\nexec /bin/sh -c "$*"\n')
    os.chmod(shell, 0o700)
    settings = {
        "plm_rsh_agent": shell,
        "btl": "tcp,self",
        "btl_tcp_if_include": "lo",
        "oob_tcp_if_include": "lo",
    }
    flags = [word for name, value in settings.items() for word in ("--mca", name, value)]
    return [*flags, "-H", f"{socket.gethostname()}:1,node-1:1", "-np", "2"]


def _throughputs(yard: Scratch) -> list[Row]:
    """In pairs, now one first and now the other, long after the start of either."""
    reduce, ddp = yard.script("allreduce", ALLREDUCE), yard.script("ddp", DDP)
    bare_mpi = [*MPIRUN, "-np", "2", PYTHON, reduce, str(STEPS)]
    bare_torch = [PYTHON, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", ddp, str(STEPS)]
    return [
        _throughput(f"{STEPS} allreduces of 2 MB", "mpirun", bare_mpi, yard, reduce, MpiConfiguration(2, 1)),
        _throughput(
            f"{STEPS} steps of DDP", "torchrun", bare_torch, yard, ddp, PyTorchConfiguration("Gloo", process_count=2)
        ),
    ]


def _throughput(what: str, over: str, bare: list[str], yard: Scratch, script: str, how: object) -> Row:
    def ours() -> float:
        return _said(_through_us(yard, script, how, str(STEPS)))

    def theirs() -> float:
        return _said(subprocess.run(bare, check=True, capture_output=True, text=True).stdout)

    taken: dict[Callable[[], float], list[float]] = {ours: [], theirs: []}
    for number in range(TIMES):
        for work in (ours, theirs) if number % 2 else (theirs, ours):
            taken[work].append(work())
    us, them = (statistics.median(taken[work]) * 1e3 for work in (ours, theirs))
    return Row(what, us, them, budget=them / 0.99, over=over)


def _through_us(yard: Scratch, script: str, how: object, *arguments: str) -> str:
    """What rank 0 wrote."""
    mine = Environment("mine")
    mine.python.user_managed_dependencies = True
    config = ScriptRunConfig(
        os.path.dirname(script),
        os.path.basename(script),
        arguments=list(arguments),
        compute_target=yard.cluster,
        environment=mine,
        distributed_job_config=how,
    )
    run: Run = Experiment(yard.workspace, "bench").submit(config)
    run.wait_for_completion()
    names = [name for name in run.get_file_names() if name.endswith(("70_driver_log_0.txt", "70_driver_log.txt"))]
    return yard.runs.read_log(run.id, names[0]).decode() if names else ""


def _timed(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def _said(text: str) -> float:
    return next(float(line.split()[1]) for line in text.splitlines() if line.startswith("seconds"))


if __name__ == "__main__":
    main()
