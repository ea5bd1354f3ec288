"""Every benchmark, one after the other: each is a program of its own, so that none warms or burdens the next."""

from __future__ import annotations

import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
HELPERS = {"all.py", "load.py", "measure.py", "mlflow_ranks.py", "ray_tune.py", "scratch.py", "tracker_peers.py"}


def main() -> int:
    asked = [name if name.endswith(".py") else f"{name}.py" for name in sys.argv[1:]]
    scripts = asked or sorted(name for name in os.listdir(HERE) if name.endswith(".py") and name not in HELPERS)
    failed = []
    for script in scripts:
        print(f"\n── {script}", flush=True)
        if subprocess.run([sys.executable, os.path.join(HERE, script)]).returncode != 0:
            failed.append(script)
    if failed:
        print(f"\nDid not finish: {', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
