"""TensorFlow: every process finds the whole cluster and its own place in it in TF_CONFIG."""

from __future__ import annotations

import json

from trainyard.contract import logs
from trainyard.contract.runs import Role, RunSpec
from trainyard.launchers.base import NodeView, Process, command_of
from trainyard.launchers.spread import Slot, dealt

_LEADERS = ("chief", "master")  # where there is one, the job is done when it is


def plan(spec: RunSpec, node: NodeView) -> list[Process]:
    roles = spec.roles or (Role("worker", len(node.peers)),)
    slots = dealt(roles, len(node.peers))
    argv, arguments = command_of(spec, node)
    led = any(role.name in _LEADERS and role.count for role in roles)
    return [
        Process(
            rank=slot.rank,
            local_rank=slot.local_rank,
            role=slot.role,
            argv=argv,
            arguments=arguments,
            log=logs.driver(slot.rank, len(slots)),
            variables={"TF_CONFIG": _config(slots, slot, node)},
            serves=slot.role not in _LEADERS if led else slot.role == "ps",
        )
        for slot in slots
        if slot.node == node.index
    ]


def _config(slots: list[Slot], mine: Slot, node: NodeView) -> str:
    cluster: dict[str, list[str]] = {}
    for slot in slots:
        peer = node.peers[slot.node]
        cluster.setdefault(slot.role, []).append(f"{peer.address}:{peer.ports[slot.local_rank]}")
    task = {"type": mine.role, "index": mine.index}
    return json.dumps({"cluster": cluster, "task": task, "environment": "cloud"})
