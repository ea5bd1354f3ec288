from __future__ import annotations

import pytest

from trainyard.environments.old_frameworks import brought_along, keras_two, variables, wants_keras_two, wants_onnx
from trainyard.environments.specification import Wanted

TODAY = "tensorflow-cpu==2.21.0 \\\n    --hash=sha256:00\nkeras==3.15.1\nnumpy==2.4.6\n"
WITH_KERAS_2 = TODAY + "tf-keras==2.21.0\n"
BOTH = {"TRAINYARD_SHIMS": "auto", "TF_USE_LEGACY_KERAS": "1"}


@pytest.mark.parametrize(
    ("wanted", "lock", "wants", "gets"),
    [
        (Wanted(requirements=("tensorflow-cpu==1.13.1",)), TODAY, True, BOTH),
        (Wanted(requirements=("tensorflow==2.2.0",), relax=True), TODAY, True, BOTH),
        (Wanted(requirements=("keras<=2.3.1", "tensorflow-cpu")), TODAY, True, {"TF_USE_LEGACY_KERAS": "1"} | BOTH),
        (Wanted(conda=("keras<=2.3.1", "tensorflow=1.13.1"), relax=True), TODAY, True, BOTH),
        (Wanted(requirements=("tensorflow-cpu",)), TODAY, False, {}),
        (Wanted(requirements=("tensorflow-cpu>=2.0",)), TODAY, False, {}),
        (Wanted(requirements=("tensorflow-cpu==2.18.0",), relax=True), TODAY, True, {"TRAINYARD_SHIMS": "auto"}),
        (Wanted(requirements=("tensorflow-cpu",), shims="auto"), TODAY, True, {}),
        (Wanted(requirements=("tensorflow-cpu==1.13.1",), shims="off"), TODAY, False, BOTH),
        (Wanted(requirements=("torch==1.0",)), "torch==2.13.0+cpu\n", False, {"TRAINYARD_SHIMS": "auto"}),
        (Wanted(requirements=("torch==2.13.0",)), "torch==2.13.0+cpu\n", False, {}),
        (Wanted(requirements=("pandas==1.0",)), "pandas==3.0.0\n", False, {}),
    ],
)
def test_what_an_old_wish_gets_beside_a_new_framework(
    wanted: Wanted, lock: str, wants: bool, gets: dict[str, str]
) -> None:
    assert wants_keras_two(wanted, lock) is wants
    assert variables(wanted, WITH_KERAS_2 if "tensorflow" in lock else lock) == gets


def test_keras_two_is_of_the_same_series_and_comes_once() -> None:
    assert keras_two(TODAY) == "tf-keras==2.21.*"
    assert not wants_keras_two(Wanted(requirements=("tensorflow-cpu==1.13.1",)), WITH_KERAS_2)


@pytest.mark.parametrize(
    ("line", "brings"),
    [
        ("tensorflow==2.2.0", True),
        ("tensorflow-gpu==1.13.1", True),
        ("tensorflow-cpu<2.21", True),
        ("tensorflow-cpu==2.21.0", False),
        ("tensorflow>=2.0", False),
        ("tensorflow", False),
        ("torch==1.0", False),
    ],
)
def test_tensorboard_comes_with_a_tensorflow_that_had_it(line: str, brings: bool) -> None:
    assert brought_along(Wanted(requirements=(line,))) == (("tensorboard",) if brings else ())


def test_chainer_comes_with_pkg_resources() -> None:
    assert brought_along(Wanted(requirements=("chainer==5.1.0", "numpy"))) == ("setuptools<60",)
    assert brought_along(Wanted(requirements=("Chainer", "tensorflow==1.13.1"))) == ("tensorboard", "setuptools<60")


@pytest.mark.parametrize(
    ("wanted", "lock", "wants"),
    [
        (Wanted(requirements=("torch==1.0",)), "torch==2.13.0+cpu\n", True),
        (Wanted(requirements=("torch>=1.3,<2", "numpy")), "torch==2.13.0\n", True),
        (Wanted(conda=("pytorch=1.4",)), "torch==2.13.0\n", True),
        (Wanted(requirements=("torch==1.0", "onnx")), "torch==2.13.0\nonnx==1.19.0\n", False),
        (Wanted(requirements=("torch==1.13.0",)), "torch==1.13.1\n", False),
        (Wanted(requirements=("torch==2.0.0",)), "torch==2.13.0\n", False),
        (Wanted(requirements=("torch>=1.0",)), "torch==2.13.0\n", False),
        (Wanted(requirements=("tensorflow==1.13.1",)), TODAY, False),
    ],
)
def test_onnx_comes_with_a_torch_that_took_the_place_of_a_torch_one(wanted: Wanted, lock: str, wants: bool) -> None:
    assert wants_onnx(wanted, lock) is wants
