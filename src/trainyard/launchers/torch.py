"""PyTorch: every process is told who it is and where rank 0 listens, in the words of torch and of the older SDK."""

from __future__ import annotations

import urllib.request

from trainyard.contract import logs
from trainyard.contract.runs import RunSpec
from trainyard.launchers.base import NodeView, Process, command_of, fair_threads
from trainyard.launchers.spread import in_blocks

_INIT_FILE = "torch-init"  # torch makes it, and expects to


def plan(spec: RunSpec, node: NodeView) -> list[Process]:
    total = sum(role.count for role in spec.roles) or len(node.peers)
    slots = in_blocks(total, len(node.peers))
    here = [slot for slot in slots if slot.node == node.index]
    near = {peer.node for peer in node.on_this_machine}
    defaults = fair_threads(node, sum(slot.node in near for slot in slots))
    argv, arguments = command_of(spec, node)
    master = node.peers[0]
    common = {
        "MASTER_ADDR": master.address,
        "MASTER_PORT": str(master.ports[0]),
        "WORLD_SIZE": str(total),
        "NODE_RANK": str(node.index),
        "LOCAL_WORLD_SIZE": str(len(here)),
        "AZ_BATCHAI_PYTORCH_INIT_METHOD": _init_method(node),
    }
    return [
        Process(
            rank=slot.rank,
            local_rank=slot.local_rank,
            role=slot.role,
            argv=argv,
            arguments=arguments,
            log=logs.driver(slot.rank, total),
            variables={
                **common,
                "RANK": str(slot.rank),
                "LOCAL_RANK": str(slot.local_rank),
                "AZ_BATCHAI_TASK_INDEX": str(slot.rank),
            },
            defaults=defaults,
        )
        for slot in here
    ]


def _init_method(node: NodeView) -> str:
    """A file that all nodes see, as scripts of 2020 expect; nodes that share no disk meet at rank 0's port instead."""
    if node.shared is None:
        return f"tcp://{node.peers[0].address}:{node.peers[0].ports[0]}"
    return f"file://{urllib.request.pathname2url(node.shared)}/{_INIT_FILE}"
