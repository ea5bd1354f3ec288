"""Import-compatible names of the Azure ML SDK v1: re-exports and small adapters of trainyard.sdk, no logic."""

import os as _os
import sys as _sys
from typing import Any as _Any

# Said here, before anything that an older Python cannot even read.
if _sys.version_info < (3, 11):  # noqa: UP036 - a job may have whatever Python its environment names
    raise ImportError(
        "`import azureml` needs Python 3.11 or later, and this is Python {}.{}. Name a newer Python in the "
        "environment, or let it give way: TRAINYARD_RELAX_PINS=1 when the run is submitted.".format(*_sys.version_info)
    )

from trainyard.sdk.elsewhere import Leaves as _Leaves
from trainyard.sdk.elsewhere import NotHere as _NotHere

if _NotHere not in _sys.meta_path:
    _sys.meta_path.insert(0, _Leaves)
    _sys.meta_path.append(_NotHere)

if "IPython" in _sys.modules:
    import urllib.request as _urllib_request  # the SDK had imported it: cells say `import urllib` and use all of it

# A notebook that was told so gets what its jobs get: helpers for the old frameworks it was written for.
if _os.environ.get("TRAINYARD_RELAX_PINS", "") not in ("", "0") and "TRAINYARD_JOB" not in _os.environ:
    import trainyard.shims as _shims

    _shims.install()


def __getattr__(name: str) -> _Any:
    """Packages that came with `import azureml.core`: scripts use them without an import of their own."""
    if name in ("data", "exceptions"):
        import importlib

        return importlib.import_module(f"azureml.{name}")
    raise AttributeError(f"module 'azureml' has no attribute {name!r}")
