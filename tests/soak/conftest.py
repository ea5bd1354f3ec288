from __future__ import annotations

import os
import sys
from pathlib import Path

# the long runs are asked for by name: `make soak`
collect_ignore_glob = [] if os.environ.get("TRAINYARD_SOAK") else ["test_*.py"]

sys.path.insert(0, str(Path(__file__).parent.parent / "faults"))
