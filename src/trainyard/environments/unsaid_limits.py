"""Packages that were built for an older NumPy and do not say so: beside a newer one they fail when they are imported or
used. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from packaging.version import InvalidVersion, Version

_BEFORE_2 = "numpy<2"
_BEFORE_1_24 = "numpy<1.24"

_USE_DROPPED_NAMES = ("chainer",)  # such as np.bool, in all of their releases
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


def needed(versions: Mapping[str, str]) -> tuple[str, list[str]]:
    """A constraint, and those of the resolved packages (name → version) that ask for it; ("", []): none does."""
    numpy = versions.get("numpy", "1")
    users = [f"{name}=={versions[name]}" for name in _USE_DROPPED_NAMES if name in versions]
    if users and not _is_older(numpy, "1.24"):
        return _BEFORE_1_24, users
    if _is_older("1.99", numpy) and (found := _built_before_2(versions)):
        return _BEFORE_2, found
    return "", []


def _built_before_2(versions: Mapping[str, str]) -> list[str]:
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
