"""`trainyard compute list|show|create|delete|preempt`."""

from __future__ import annotations

from typing import Annotated, Any

from cyclopts import App, Parameter

from trainyard.cli.output import JsonFlag, WorkspaceOption, age, console, iso, say, show_json, show_table
from trainyard.cli.place import open_place
from trainyard.contract.computes import ComputeRecord, NewCompute, Priority

app = App(name="compute", help="Compute targets: list, create, delete, preempt.")

TargetName = Annotated[str, Parameter(help="The target's name.")]


@app.command(name="list")
def list_(*, workspace: WorkspaceOption = None, json: JsonFlag = False) -> None:
    """List the compute targets of a workspace."""
    place = open_place(workspace)
    found = place.computes.list()
    if json:
        show_json([_json(compute) for compute in found])
        return
    show_table(
        ["name", "backend", "size", "node", "priority", "nodes", "state"],
        (
            [
                c.name,
                c.backend,
                c.vm_size,
                _shape(c),
                c.priority,
                f"{c.min_nodes} to {c.max_nodes}",
                c.provisioning_state,
            ]
            for c in found
        ),
        empty=f"No target in workspace {place.workspace.name}. `trainyard compute create cpu-cluster` makes one.",
    )


@app.command
def show(name: TargetName, /, *, workspace: WorkspaceOption = None, json: JsonFlag = False) -> None:
    """Show a target and its nodes that are up."""
    status = open_place(workspace).computes.status(name)
    compute = status.compute
    if json:
        nodes = [
            {"node_id": node.node_id, "state": node.state, "run_id": node.run_id, "since": iso(node.since_ns)}
            for node in status.nodes
        ]
        show_json({**_json(compute), "target_nodes": status.target_nodes, "steady": status.steady, "nodes": nodes})
        return
    console().print(f"[bold]{compute.name}[/]  {compute.vm_size}, {_shape(compute)} a node, {compute.priority}")
    console().print(f"{compute.min_nodes} to {compute.max_nodes} nodes; idle ones go after {compute.idle_seconds} s")
    for warning in compute.warnings:
        say(warning, "yellow")
    show_table(
        ["node", "state", "run", "since"],
        ([node.node_id, node.state, node.run_id or "", age(node.since_ns)] for node in status.nodes),
        empty="No node is up; they come when a run needs them.",
    )


@app.command
def create(
    name: TargetName,
    /,
    *,
    vm_size: Annotated[str, Parameter(help="The size of a node, in Azure's words; capped to this machine.")] = (
        "STANDARD_D2_V2"
    ),
    max_nodes: Annotated[int, Parameter(help="Most nodes at once.")] = 1,
    min_nodes: Annotated[int, Parameter(help="Nodes that stay up.")] = 0,
    idle_seconds: Annotated[int, Parameter(help="Nodes above the minimum go after this long without a run.")] = 120,
    low_priority: Annotated[bool, Parameter(negative="", help="Its nodes may be taken away (see preempt).")] = False,
    workspace: WorkspaceOption = None,
) -> None:
    """Make a target on this machine, or bring the one of that name to these settings.

    Try:

        trainyard compute create cpu-cluster --max-nodes 4
    """
    priority = Priority.LOW if low_priority else Priority.DEDICATED
    new = NewCompute(
        name=name,
        vm_size=vm_size,
        priority=priority,
        min_nodes=min_nodes,
        max_nodes=max_nodes,
        idle_seconds=idle_seconds,
    )
    made = open_place(workspace, make=True).computes.create(new)
    for warning in made.warnings:
        say(warning, "yellow")
    console().print(f"Target {made.name} is there: up to {made.max_nodes} nodes of {_shape(made)}.", markup=False)


@app.command
def delete(name: TargetName, /, *, workspace: WorkspaceOption = None) -> None:
    """Delete a target. Refused while a run uses it."""
    open_place(workspace).computes.delete(name)
    console().print(f"Target {name} is gone.", markup=False)


@app.command
def preempt(
    name: TargetName,
    /,
    *,
    node: Annotated[str | None, Parameter(help="A node's id; without it, the busy one that started last.")] = None,
    workspace: WorkspaceOption = None,
) -> None:
    """Take a low-priority node away, as a cloud would. Its run gets a new attempt with ./outputs as it was.

    Try:

        trainyard compute preempt cheap-cluster
    """
    hit = open_place(workspace).computes.preempt(name, node)
    if not hit:
        console().print("A node was taken away; no run was on it.")
    for run_id in hit:
        console().print(f"{run_id} lost its node and starts again.", markup=False)


def _shape(compute: ComputeRecord) -> str:
    shape = compute.shape
    gpus = f", {shape.gpus} GPU{'s' if shape.gpus > 1 else ''}" if shape.gpus else ""
    return f"{shape.cores} core{'s' if shape.cores > 1 else ''}, {shape.memory_gb:g} GB{gpus}"


def _json(compute: ComputeRecord) -> dict[str, Any]:
    return {
        "name": compute.name,
        "type": compute.kind,
        "backend": compute.backend,
        "vm_size": compute.vm_size,
        "cores": compute.shape.cores,
        "memory_gb": compute.shape.memory_gb,
        "gpus": compute.shape.gpus,
        "priority": compute.priority.value,
        "min_nodes": compute.min_nodes,
        "max_nodes": compute.max_nodes,
        "idle_seconds": compute.idle_seconds,
        "provisioning_state": compute.provisioning_state,
        "warnings": [*compute.warnings],
        "created": iso(compute.created_ns),
    }
