"""What is in an environment that conda made on this machine, as conda itself tells it."""

from __future__ import annotations

import io
import os
import shutil
import subprocess

from trainyard.sdk.environments.conda_dependencies import CondaDependencies
from trainyard.sdk.errors import UserErrorException

_PROGRAMS = ("conda", "mamba", "micromamba")


def exported(environment: str) -> CondaDependencies:
    if not isinstance(environment, str) or not environment.strip() or environment.startswith("-"):
        raise UserErrorException(f"{environment!r} names no conda environment. See `conda env list`.")
    program = os.environ.get("CONDA_EXE") or next(filter(None, map(shutil.which, _PROGRAMS)), None)
    if program is None:
        raise UserErrorException(
            "There is no conda program on this machine's PATH, so its environments cannot be read. Run `conda env "
            "export` where it is and use Environment.from_conda_specification with the file it writes."
        )
    argv = [program, "env", "export", "--no-builds", "--name", environment]
    try:
        done = subprocess.run(argv, capture_output=True, text=True, check=True, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.CalledProcessError) as error:
        said = str(getattr(error, "stderr", "") or error).strip()
        raise UserErrorException(
            f"conda cannot tell what is in {environment!r}: {said}. See `conda env list`."
        ) from error
    return CondaDependencies(io.StringIO(done.stdout))
