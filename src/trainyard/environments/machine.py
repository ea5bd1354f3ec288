"""What this machine has that decides which builds of packages are taken."""

from __future__ import annotations

import glob


def has_gpu() -> bool:
    return bool(glob.glob("/dev/nvidia[0-9]*"))
