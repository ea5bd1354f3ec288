"""How processes start. A launcher is a module here, a row in this table, a table of cases in the tests."""

from __future__ import annotations

import importlib

from trainyard.contract.errors import InvalidRequest
from trainyard.launchers.base import Launcher

LAUNCHERS = {
    "mpi": "trainyard.launchers.mpi:plan",
    "single": "trainyard.launchers.single:plan",
    "tf_config": "trainyard.launchers.tf_config:plan",
    "torch": "trainyard.launchers.torch:plan",
    "torchrun": "trainyard.launchers.torchrun:plan",
}


def find_launcher(name: str) -> Launcher:
    """The launcher of that name; its module is imported only now."""
    if name not in LAUNCHERS:
        raise InvalidRequest(
            f"No launcher named {name!r} (there are: {', '.join(sorted(LAUNCHERS))}). Use the same Trainyard version "
            "on the node and where the run was submitted."
        )
    module, _, attribute = LAUNCHERS[name].partition(":")
    launcher: Launcher = getattr(importlib.import_module(module), attribute)
    return launcher
