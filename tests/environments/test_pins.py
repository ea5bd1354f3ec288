"""The nearest version, and the sentences about it."""

from __future__ import annotations

import pytest

from trainyard.environments.pins import (
    Available,
    Lacking,
    alternatives,
    at_least,
    nearest,
    of_foreign_wheel,
    refusal,
    replacements,
    versions_in,
)


@pytest.mark.parametrize(
    ("wanted", "below", "above", "near"),
    [
        ("2.2.0", None, "2.12.0", "2.12.0"),
        ("9.0", "1.17.0", None, "1.17.0"),
        ("1.16.4", None, None, None),
        ("1.16.4", "1.16.3", "1.23.2", "1.16.3"),  # the same series
        ("1.5.0", "1.4.0", "2.0.0", "1.4.0"),
        ("1.16.4", "0.9.0", "2.0.0", "2.0.0"),  # as far either way: what is missing is most often too old
    ],
)
def test_the_nearest_version(wanted: str, below: str | None, above: str | None, near: str | None) -> None:
    assert nearest(wanted, below, above) == near


@pytest.mark.parametrize(
    ("line", "pin"),
    [
        ("https://host/whl/cpu/torch-1.1.0-cp36-cp36m-linux_x86_64.whl", "torch==1.1.0"),
        ("torch @ https://ada:hush@host/torch-1.4.0%2Bcpu-cp37-cp37m-linux_x86_64.whl#sha256=00", "torch==1.4.0"),
        ("https://host/pear-1.0-py2-none-any.whl", "pear==1.0"),
        ("https://host/pear-1.0-cp313-abi3-linux_x86_64.whl", "pear==1.0"),
        ("https://host/pear-1.0-cp311-cp311-linux_x86_64.whl", None),
        ("https://host/pear-1.0-cp38-abi3-linux_x86_64.whl", None),
        ("https://host/pear-1.0-py2.py3-none-any.whl", None),
        ("https://host/pear-1.0.tar.gz", None),
        ("git+https://host/pear.git", None),
        ("pear==1.0", None),
    ],
)
def test_a_wheel_for_another_python_is_a_pin(line: str, pin: str | None) -> None:
    assert of_foreign_wheel(line, "3.11.7") == pin


def test_at_least_the_version_of_a_build() -> None:
    assert at_least("torchvision==0.28.0+cu130") == "torchvision>=0.28.0"
    assert at_least("apple==1.5.*") == "apple>=1.5"
    assert at_least("apple>1") is None


def test_gpu_packages() -> None:
    assert alternatives("tensorflow-gpu", gpu=False) == ("tensorflow-cpu", "tensorflow")
    assert alternatives("tensorflow_gpu", gpu=True) == ("tensorflow",)
    assert alternatives("numpy", gpu=False) == ()


def test_a_refusal_names_each_pin_the_nearest_version_and_the_switch() -> None:
    lacking = [
        Lacking("tensorflow-gpu==2.2.0", Available("tensorflow-cpu", "2.12.0"), filled_in=False),
        Lacking("numpyy==1", None, filled_in=False),
    ]
    assert refusal(lacking, "3.11.7", "Because of that.") == (
        "Not available for Python 3.11.7: tensorflow-gpu==2.2.0 (the nearest there is: tensorflow-cpu==2.12.0); "
        "numpyy==1 (there is nothing of that name for it). Change the name(s) and version(s), or take the nearest: "
        "set TRAINYARD_RELAX_PINS=1 or environment.python.relax_pins = True. The solver said: Because of that."
    )


LOCK = """\
numpy==1.23.2 \\
    --hash=sha256:aa
tensorflow-cpu==2.12.0 \\
    --hash=sha256:bb
six==1.17.0
"""


def test_a_lock_is_read() -> None:
    assert versions_in(LOCK) == {"numpy": "1.23.2", "tensorflow-cpu": "2.12.0", "six": "1.17.0"}


def test_every_replacement_has_a_sentence() -> None:
    asked = [
        ("numpy==1.16.4", "numpy==1.23.2"),
        ("tensorflow-gpu==2.2.0", "tensorflow-cpu"),
        ("six==1.17.0", "six==1.17.0"),
        ("six", "six"),
    ]
    assert replacements(asked, LOCK, "3.11.7") == [
        "numpy==1.16.4 cannot be had for Python 3.11.7: numpy==1.23.2 was installed instead.",
        "tensorflow-gpu==2.2.0 cannot be had for Python 3.11.7: tensorflow-cpu==2.12.0 was installed instead.",
    ]


def test_what_a_builder_said_is_cut_to_its_last_error() -> None:
    said = (
        "Failed to build `a==1`. "
        + "line " * 400
        + "ModuleNotFoundError: No module named 'distutils'\nHint: "
        + "x" * 500
    )
    sentence = refusal([Lacking("a==1", None, False)], "3.11.7", said)
    assert len(sentence) < 700
    assert "said: Failed to build `a==1`. line" in sentence
    assert sentence.endswith("… ModuleNotFoundError: No module named 'distutils' … The build log has it all.")
