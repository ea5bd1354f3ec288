"""Packages that were built for NumPy 1 and do not say so: with NumPy 2 beside them they fail when they are imported.
Their newer releases go with both. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from packaging.version import InvalidVersion, Version

CONSTRAINT = "numpy<2"

# The first release of each that goes with NumPy 2.
_FIRST_WITH_NUMPY_2 = {
    "bottleneck": "1.4.0",
    "h5py": "3.11.0",
    "imbalanced-learn": "0.12.3",
    "matplotlib": "3.9.0",
    "opencv-python": "4.10.0",
    "opencv-python-headless": "4.10.0",
    "pandas": "2.2.2",
    "pyarrow": "16.0.0",
    "pywavelets": "1.6.0",
    "scikit-image": "0.24.0",
    "scikit-learn": "1.4.2",
    "scipy": "1.13.0",
    "shap": "0.46.0",
    "statsmodels": "0.14.2",
    "torch": "2.3.0",
    "torchvision": "0.18.0",
}


def built_for_it(versions: Mapping[str, str]) -> list[str]:
    """Of resolved packages (name → version), those that need NumPy 1 while NumPy 2 is among them."""
    if not _is_older("1.99", versions.get("numpy", "1")):
        return []
    return [
        f"{name}=={version}"
        for name, version in sorted(versions.items())
        if name in _FIRST_WITH_NUMPY_2 and _is_older(version, _FIRST_WITH_NUMPY_2[name])
    ]


def _is_older(version: str, than: str) -> bool:
    try:
        return Version(version) < Version(than)
    except InvalidVersion:
        return False
