"""Hashes that a user wrote beside requirements: files with others are not installed. Pure."""

from __future__ import annotations

import re

from trainyard.contract.errors import Unsatisfied
from trainyard.environments.names import normalised
from trainyard.environments.pins import pinned
from trainyard.environments.specification import Wanted

_BLOCK = re.compile(  # of a lock: a distribution, and its hashes below it
    r"^(?P<what>(?P<name>[A-Za-z0-9][\w.-]*)==(?P<version>[^\s;\\]+)[^\n\\]*?) \\\n(?:    --hash=.*\n?)+", re.M
)


def with_hashes_of(wanted: Wanted, lines: str) -> str:
    """A lock's lines, with no other hashes than the user's for what is there as the user asked for it."""
    allowed = dict(wanted.hashes)
    asked = {normalised(pin.name): pin.specifier for line in wanted.requirements if (pin := pinned(line))}

    def checked(found: re.Match[str]) -> str:
        name = normalised(found["name"])
        as_asked = name not in asked or asked[name].contains(found["version"], prereleases=True)
        if name not in allowed or not as_asked:
            return found[0]
        kept = [digest for digest in re.findall(r"--hash=(\S+)", found[0]) if digest in allowed[name]]
        if not kept:
            raise Unsatisfied(f"No file of {name}=={found['version']} has a hash that is named beside it")
        return " \\\n".join([found["what"], *(f"    --hash={digest}" for digest in kept)]) + "\n"

    return _BLOCK.sub(checked, lines) if allowed else lines
