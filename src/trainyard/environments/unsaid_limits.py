"""Packages that were made for an older NumPy or SciPy and do not say so: beside a newer one they fail when they are
imported or used. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from packaging.version import InvalidVersion, Version

_BEFORE_2 = "numpy<2"
_BEFORE_1_24 = "numpy<1.24"
_SCIPY_BEFORE_1_14 = "scipy<1.14"

_USE_DROPPED_NAMES = ("chainer",)  # such as np.bool, in all of their releases
# The first release of each that does without parameters (tol, eigvals) which SciPy 1.14 has dropped.
_FIRST_WITH_SCIPY_1_14 = {"scikit-learn": "1.4.0"}
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


def of(versions: Mapping[str, str]) -> dict[str, list[str]]:
    """Constraints, each with those of the resolved packages (name → version) that ask for it."""
    return {**_of_numpy(versions), **_of_scipy(versions)}


def _of_numpy(versions: Mapping[str, str]) -> dict[str, list[str]]:
    numpy = versions.get("numpy", "1")
    users = [f"{name}=={versions[name]}" for name in _USE_DROPPED_NAMES if name in versions]
    if users and not _is_older(numpy, "1.24"):
        return {_BEFORE_1_24: users}
    if _is_older("1.99", numpy) and (found := _older_than(_FIRST_WITH_NUMPY_2, versions)):
        return {_BEFORE_2: found}
    return {}


def _of_scipy(versions: Mapping[str, str]) -> dict[str, list[str]]:
    if _is_older("1.13.99", versions.get("scipy", "1")) and (found := _older_than(_FIRST_WITH_SCIPY_1_14, versions)):
        return {_SCIPY_BEFORE_1_14: found}
    return {}


def _older_than(first: Mapping[str, str], versions: Mapping[str, str]) -> list[str]:
    there = sorted(versions.keys() & first.keys())
    return [f"{name}=={versions[name]}" for name in there if _is_older(versions[name], first[name])]


def _is_older(version: str, than: str) -> bool:
    try:
        return Version(version) < Version(than)
    except InvalidVersion:
        return False
