"""How much memory a process holds."""

from __future__ import annotations

import os

_PAGE = os.sysconf("SC_PAGE_SIZE")


def resident_mb(pid: int) -> float:
    """0 where it cannot be known: the process has gone, or this is not Linux."""
    try:
        with open(f"/proc/{pid}/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * _PAGE / (1 << 20)
    except (OSError, IndexError, ValueError):
        return 0.0
