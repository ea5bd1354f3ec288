"""Import-compatible names of the Azure ML SDK v1: re-exports and small adapters of trainyard.sdk, no logic."""

import os as _os
import sys as _sys
from typing import Any as _Any

from trainyard.sdk.elsewhere import NotHere as _NotHere

if _NotHere not in _sys.meta_path:
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
