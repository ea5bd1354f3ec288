"""Frameworks that are newer than what was asked for: what a job gets beside them so that its script still runs. Pure.

TensorFlow 2.16 and later bring Keras 3, and 2.21 and later no TensorBoard. Where an older one was asked for, Keras 2 is
put beside it (the package tf-keras), TensorBoard too, and the job's helpers for old scripts are switched on. PyTorch 2
exports to ONNX with the package onnx, which PyTorch 1 did without: it is put beside one that took the place of such.
Chainer takes for granted what came with every Python of its time.
"""

from __future__ import annotations

from packaging.requirements import Requirement
from packaging.version import InvalidVersion, Version

from trainyard.contract.environments import SHIMS_AUTO, SHIMS_OFF, SHIMS_VARIABLE
from trainyard.environments.conda import to_pypi
from trainyard.environments.names import normalised
from trainyard.environments.pins import pinned, versions_in
from trainyard.environments.specification import Wanted, requirement_name

TENSORFLOW = ("tensorflow", "tensorflow-cpu", "tensorflow-gpu", "tensorflow-intel")
_WITH_HELPERS = frozenset({*TENSORFLOW, "keras", "numpy", "scikit-learn", "torch"})
_FIRST_WITH_KERAS_3 = Version("2.16")
_FIRST_WITHOUT_TENSORBOARD = "2.21"
_FIRST_WITHOUT_ONNX = "2.0"  # of torch
_USE_PKG_RESOURCES = frozenset({"chainer"})
_PKG_RESOURCES = "setuptools<60"  # 81 lost it; from 60 on its own distutils stands before the one that old NumPy wants
_USES_KERAS_2 = {"TF_USE_LEGACY_KERAS": "1"}


def brought_along(wanted: Wanted) -> tuple[str, ...]:
    """What was there beside the frameworks that are asked for, and is not today: TensorBoard, which summaries need, and
    `pkg_resources`, which was in every environment."""
    pins = (pinned(line) for line in wanted.requirements)
    found = ("tensorboard",) if any(pin and _is_before(pin, _FIRST_WITHOUT_TENSORBOARD) for pin in pins) else ()
    uses = any(requirement_name(line) in _USE_PKG_RESOURCES for line in wanted.requirements)
    return (*found, _PKG_RESOURCES) if uses else found


def wants_keras_two(wanted: Wanted, lock: str) -> bool:
    """Whether Keras 2 belongs beside the resolved packages."""
    if _keras_three(lock) is None or "tf-keras" in versions_in(lock) or wanted.shims == SHIMS_OFF:
        return False
    return wanted.relax or wanted.shims is not None or _asks_for_keras_two(wanted)


def keras_two(lock: str) -> str:
    """Its requirement, for the TensorFlow that is there."""
    version = _keras_three(lock)
    assert version is not None, "asked only where there is one"
    return f"tf-keras=={version.major}.{version.minor}.*"


def wants_onnx(wanted: Wanted, lock: str) -> bool:
    """Whether the package onnx belongs beside the resolved packages: a newer torch took the place of a torch 1."""
    there = versions_in(lock)
    if "torch" not in there or "onnx" in there or _older(there["torch"], _FIRST_WITHOUT_ONNX):
        return False
    pins = (pinned(line) for line in _asked(wanted))
    return any(pin and normalised(pin.name) == "torch" and _ends_before(pin, _FIRST_WITHOUT_ONNX) for pin in pins)


def variables(wanted: Wanted, lock: str) -> dict[str, str]:
    """What processes with these packages need."""
    said = {}
    if _replaced(wanted, lock):
        said[SHIMS_VARIABLE] = SHIMS_AUTO
    if "tf-keras" in versions_in(lock) and _asks_for_keras_two(wanted):
        said |= _USES_KERAS_2
    return said


def _replaced(wanted: Wanted, lock: str) -> bool:
    """A framework that we have helpers for was asked for in a version that is not the one installed."""
    there = versions_in(lock)
    tensorflow = next((there[name] for name in TENSORFLOW if name in there), None)
    for line in _asked(wanted):
        if (requirement := pinned(line)) is None or (name := normalised(requirement.name)) not in _WITH_HELPERS:
            continue
        got = tensorflow if name in TENSORFLOW else there.get(name)
        if got is not None and not requirement.specifier.contains(got, prereleases=True):
            return True
    return False


def _asks_for_keras_two(wanted: Wanted) -> bool:
    return any(_is_before_keras_three(requirement) for line in _asked(wanted) if (requirement := pinned(line)))


def _asked(wanted: Wanted) -> list[str]:
    """What conda was asked for may have come from PyPI, and counts as what pip was."""
    return [*wanted.requirements, *to_pypi(wanted.conda)[0]]


def _is_before_keras_three(requirement: Requirement) -> bool:
    """A pin that no release with Keras 3 fits."""
    name = normalised(requirement.name)
    newer = {"keras": ("3.0.0", "3.99"), **dict.fromkeys(TENSORFLOW, ("2.16.1", "2.99"))}.get(name)
    exact = [spec.version for spec in requirement.specifier if spec.operator in ("==", "~=", "===")]
    if newer is None:
        return False
    if exact:
        return all(_older(version, newer[0]) for version in exact)
    return not any(requirement.specifier.contains(version) for version in newer)


def _is_before(requirement: Requirement, first: str) -> bool:
    """A pin of TensorFlow that no release from `first` on fits."""
    return normalised(requirement.name) in TENSORFLOW and _ends_before(requirement, first)


def _ends_before(requirement: Requirement, first: str) -> bool:
    """A pin that no release from `first` on fits."""
    exact = [spec.version for spec in requirement.specifier if spec.operator in ("==", "~=", "===")]
    return all(_older(version, first) for version in exact) if exact else not requirement.specifier.contains("2.99")


def _older(version: str, than: str) -> bool:
    try:
        return Version(version.removesuffix(".*")) < Version(than)
    except InvalidVersion:
        return False


def _keras_three(lock: str) -> Version | None:
    """The version of a TensorFlow that brings Keras 3."""
    there = versions_in(lock)
    for name in TENSORFLOW:
        if name in there and not _older(there[name], str(_FIRST_WITH_KERAS_3)):
            return Version(there[name])
    return None
