"""Finds Microsoft's own azureml packages in the same environment: they and we are the same names on the path."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable

from trainyard.sdk.effects import tell_once

_DIST = re.compile(r"(azureml[_-][A-Za-z0-9_.-]*?)-\d[^/]*\.(?:dist|egg)-info")
_looked = False


def warn_of_other_sdk() -> None:
    """Once per process: names the packages that share our names, with the way out."""
    global _looked
    if _looked:
        return
    _looked = True
    if found := other_sdk(sys.path):
        tell_once(
            f"Microsoft's {', '.join(found)} is installed in this environment and has the same module names as "
            f"Trainyard, so either may be imported. Run `pip uninstall -y {' '.join(found)}` and then "
            "`pip install --force-reinstall --no-deps trainyard`."
        )


def other_sdk(paths: Iterable[str]) -> list[str]:
    """The azureml-* distributions found in the folders of an import path."""
    found: set[str] = set()
    for path in paths:
        try:
            names = os.listdir(path or ".")
        except OSError:
            continue  # a zip file or a folder that is not there
        found.update(
            match[1].replace("_", "-") for name in names if name.startswith("azureml") and (match := _DIST.match(name))
        )
    return sorted(found)
