"""A virtual environment, laid by hand: a link, a file and an empty folder are all that an interpreter asks for. Nothing
in them holds the folder's own path, and no program has to be started for it."""

from __future__ import annotations

import os

from trainyard.environments.request import Interpreter


def lay(folder: str, base: Interpreter) -> None:
    version = ".".join(map(str, base.minor))
    os.makedirs(os.path.join(folder, "bin"), exist_ok=True)
    os.makedirs(os.path.join(folder, "lib", f"python{version}", "site-packages"), exist_ok=True)
    os.symlink(base.path, os.path.join(folder, "bin", "python"))
    for name in ("python3", f"python{version}"):
        os.symlink("python", os.path.join(folder, "bin", name))
    home = os.path.dirname(base.path)
    with open(os.path.join(folder, "pyvenv.cfg"), "w", encoding="utf-8") as file:
        file.write(f"home = {home}\ninclude-system-site-packages = false\nversion = {base.version}\n")
