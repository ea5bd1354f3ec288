"""The name of a built environment: the same wish on the same kind of machine has the same one. Pure."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace

from trainyard.contract.codec import to_json
from trainyard.environments.specification import Wanted

# Raised when what we build for the same wish changes, so that older builds are not taken for it.
RECIPE = 4


@dataclass(frozen=True)
class Machine:
    """What a build depends on besides the wish."""

    platform: str  # such as linux-x86_64
    python: str  # version of the interpreter it is built for; "conda": conda brings it
    gpu: bool = False


def fingerprint(wanted: Wanted, machine: Machine) -> str:
    """32 hexadecimal digits."""
    if wanted.lock is not None:  # a lock says everything; what it was resolved from does not matter any more
        wanted = Wanted(lock=wanted.lock, options=replace(wanted.options, constraints=()))
    said = {"recipe": RECIPE, "wanted": to_json(replace(wanted, dropped=())), "machine": to_json(machine)}
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()[:32]
