"""Builds Horovod for the frameworks beside this interpreter and installs it: once, some minutes. Called by make."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import platform
import sys

from trainyard.environments import horovod
from trainyard.environments.locks import Lock
from trainyard.environments.options import of_machine
from trainyard.environments.uv import Uv, find_program

_FRAMEWORKS = ("tensorflow", "tensorflow-cpu", "torch")


def main() -> int:
    if importlib.util.find_spec("horovod") is not None:
        return 0
    variables = dict(os.environ)
    uv = Uv(find_program(), of_machine(variables), variables, print)
    lines = []
    for name in _FRAMEWORKS:
        try:
            lines.append(f"{name}=={importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            continue
    lock = Lock(platform.python_version(), platform.platform(), built=(horovod.BUILT,), requirements="\n".join(lines))
    uv.install([horovod.wheel(uv, horovod.shelf(variables), sys.executable, lock, print)], sys.executable)
    return 0


if __name__ == "__main__":
    sys.exit(main())
