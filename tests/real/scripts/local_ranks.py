"""Who shares a node with whom, as MPI sees it and as its variables say: what Horovod makes its local ranks of."""

import json
import os

from mpi4py import MPI

world = MPI.COMM_WORLD
local = world.Split_type(MPI.COMM_TYPE_SHARED)
same = world.Split(local.rank, world.rank)  # one rank of each node, those that come at the same place there
found = {
    "local": local.allgather(world.rank),
    "same": same.allgather(world.rank),
    "told": [int(os.environ[f"OMPI_COMM_WORLD_LOCAL_{word}"]) for word in ("RANK", "SIZE")],
}
with open(f"outputs/rank-{world.rank}.json", "w", encoding="utf-8") as file:
    json.dump(found, file)
