"""What is installed beside an interpreter, told by its folders: nothing is started or imported."""

from __future__ import annotations

import os


def beside(interpreter: str, *packages: str) -> bool:
    """Whether the interpreter's environment has all of these packages (as they are imported)."""
    lib = os.path.join(os.path.dirname(os.path.dirname(interpreter)), "lib")
    try:
        sites = [os.path.join(lib, name, "site-packages") for name in os.listdir(lib) if name.startswith("python3.")]
    except OSError:
        return False
    return any(all(os.path.isdir(os.path.join(site, package)) for package in packages) for site in sites)
