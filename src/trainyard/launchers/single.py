"""One process per node: the script with the environment's interpreter, or a line for the node's shell."""

from __future__ import annotations

from trainyard.contract import logs
from trainyard.contract.runs import RunSpec
from trainyard.launchers.base import NodeView, Process, command_of


def plan(spec: RunSpec, node: NodeView) -> list[Process]:
    argv, arguments = command_of(spec, node)
    log = logs.driver(node.index, len(node.peers))
    return [Process(rank=node.index, local_rank=0, role="worker", argv=argv, log=log, arguments=arguments)]
