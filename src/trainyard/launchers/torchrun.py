"""PyTorch, elastic: each node runs torchrun, which starts the node's processes and starts all of them again when one
fails, a number of times. Which rank a process has may change then, so its log and its context are named for its place:
by node, then by its number there. A line of shell in front of each process leads its output there.
"""

from __future__ import annotations

from trainyard.contract import logs
from trainyard.contract.attempts import JOB_CONTEXT_VARIABLE
from trainyard.contract.runs import RunSpec
from trainyard.launchers.base import NodeView, Process, command_of, fair_threads

_PLACE = f"""\
place=$((TRAINYARD_FIRST + LOCAL_RANK))
log="$TRAINYARD_NODE/70_driver_log_$place.txt"
export {JOB_CONTEXT_VARIABLE}="$TRAINYARD_NODE/job-$place.json" AZ_BATCHAI_TASK_INDEX="$RANK"
rm -f "$TRAINYARD_NODE/rank-$place.code"
: >"$TRAINYARD_NODE/rank-$place.start"
again=$TORCHELASTIC_RESTART_COUNT
[ "$again" = 0 ] || echo "Restart $again of $TORCHELASTIC_MAX_RESTARTS" >>"$log"
"$@" >>"$log" 2>&1
code=$?
echo $code >"$TRAINYARD_NODE/rank-$place.code"
exit $code
"""


def plan(spec: RunSpec, node: NodeView) -> list[Process]:
    per_node = max(1, sum(role.count for role in spec.roles) // spec.nodes)
    first = node.index * per_node
    command, arguments = command_of(spec, node)
    master = node.peers[0]
    torchrun = (
        *(node.interpreter, "-m", "torch.distributed.run"),
        f"--nnodes={len(node.peers)}",
        f"--nproc-per-node={per_node}",
        f"--max-restarts={spec.max_restarts}",
        "--rdzv-backend=c10d",
        f"--rdzv-endpoint={master.address}:{master.ports[0]}",
        "--rdzv-id=trainyard",
        f"--rdzv-conf=is_host={int(node.index == 0)}",
        f"--local-addr={node.me.address}",
        "--no-python",
    )
    process = Process(
        rank=first,
        local_rank=0,
        role="worker",
        argv=(*torchrun, "/bin/sh", "-c", _PLACE, "place", *command),
        arguments=arguments,
        log=logs.torchrun(node.index),
        variables={
            "TRAINYARD_NODE": node.folder,
            "TRAINYARD_FIRST": str(first),
            "NODE_RANK": str(node.index),
            # processes that start again would meet in the store of the time before, and wait for what is long over:
            # https://github.com/pytorch/pytorch/issues/135712
            "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1",
            "AZ_BATCHAI_PYTORCH_INIT_METHOD": "env://",
        },
        defaults=fair_threads(node, per_node * len(node.on_this_machine)),
        ranks=tuple(range(first, first + per_node)),
    )
    return [process]
