"""A service in a scratch home for one benchmark, and short words for what the benchmarks do with it."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass

from azureml.core import Environment, Experiment, Run, ScriptRunConfig, Workspace
from azureml.core.compute import AmlCompute, ComputeTarget
from trainyard.sdk.service import Runs, Yard

PYTHON = sys.executable


@dataclass(frozen=True)
class Scratch:
    workspace: Workspace
    cluster: AmlCompute
    runs: Runs
    folder: str  # for sources; each script gets its own folder

    def script(self, name: str, text: str) -> str:
        """The path of a script alone in its folder."""
        os.makedirs(os.path.join(self.folder, name), exist_ok=True)
        path = os.path.join(self.folder, name, "script.py")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def submit(self, script: str, *arguments: str) -> Run:
        mine = Environment("mine")
        mine.python.user_managed_dependencies = True
        config = ScriptRunConfig(
            os.path.dirname(script),
            os.path.basename(script),
            arguments=list(arguments),
            compute_target=self.cluster,
            environment=mine,
        )
        return Experiment(self.workspace, "bench").submit(config)

    def lines(self, run: Run, name: str = "azureml-logs/70_driver_log.txt") -> Iterator[str]:
        """Its lines as they come."""
        waiting = b""
        for data in self.runs.follow_log(run.id, name):
            *whole, waiting = (waiting + data).split(b"\n")
            yield from (line.decode() for line in whole)


@contextlib.contextmanager
def scratch(nodes: int = 2) -> Iterator[Scratch]:
    """Up with one run behind it, so that what is measured is warm; gone at the end."""
    root = tempfile.mkdtemp(prefix="yard-")
    os.environ["TRAINYARD_HOME"] = os.path.join(root, "home")
    os.environ.pop("TRAINYARD_ENDPOINT", None)
    yard = Yard.from_env(os.environ)
    try:
        workspace = Workspace.create(name="bench", exist_ok=True, show_output=False)
        shape = AmlCompute.provisioning_configuration(vm_size="STANDARD_D1", max_nodes=nodes, min_nodes=nodes)
        cluster = ComputeTarget.create(workspace, "bench", shape)
        cluster.wait_for_completion()
        [record] = yard.workspaces.list()
        made = Scratch(workspace, cluster, yard.runs(record.id), os.path.join(root, "sources"))
        made.submit(made.script("warm", "print('warm')")).wait_for_completion(wait_post_processing=True)
        yield made
    finally:
        yard.stop(everything=True)
        shutil.rmtree(root, ignore_errors=True)
