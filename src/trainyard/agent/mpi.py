"""What an agent knows about MPI: where mpirun is, and how the ranks ended that it started on this node."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
from collections.abc import Iterable, Mapping

MPIRUN_VARIABLE = "TRAINYARD_MPIRUN"


def find_mpirun(interpreter: str, variables: Mapping[str, str]) -> str | None:
    """The one that was asked for, the environment's own, the machine's, or the one beside Trainyard itself."""
    if named := variables.get(MPIRUN_VARIABLE):
        return os.path.abspath(found) if (found := shutil.which(named, path=variables.get("PATH"))) else None
    beside = (os.path.join(os.path.dirname(python), "mpirun") for python in (interpreter, sys.executable))
    own, ours = ((path if os.access(path, os.X_OK) else None) for path in beside)
    system = shutil.which("mpirun", path=variables.get("PATH", os.defpath))
    found = own or system or ours
    return os.path.abspath(found) if found else None


def library_path(mpirun: str, variables: Mapping[str, str]) -> str:
    """So that a binding such as mpi4py, wherever it is installed, loads the MPI that started it."""
    folder = os.path.join(os.path.dirname(os.path.dirname(mpirun)), "lib")
    return os.pathsep.join(part for part in (folder, variables.get("LD_LIBRARY_PATH")) if part)


def unfinished(folder: str, ranks: Iterable[int]) -> list[int]:
    """Those that have not ended by themselves."""
    return [rank for rank in ranks if not os.path.exists(os.path.join(folder, f"rank-{rank}.code"))]


def failed(folder: str, ranks: Iterable[int]) -> list[tuple[int, int]]:
    """(rank, code) of the ranks that failed by themselves, the first of them first; a signal's code is negative, as
    Python counts."""
    found = []
    for rank in ranks:
        path = os.path.join(folder, f"rank-{rank}.code")
        with contextlib.suppress(OSError, ValueError), open(path, encoding="ascii") as file:
            if code := int(file.read()):
                found.append((os.stat(path).st_mtime_ns, rank, code))
    return [(rank, 128 - code if code > 128 else code) for _, rank, code in sorted(found)]
