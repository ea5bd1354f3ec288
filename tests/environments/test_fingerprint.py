"""Which wishes are the same."""

from __future__ import annotations

from dataclasses import replace

import pytest
from goods import definition

from trainyard.environments.fingerprint import Machine, fingerprint
from trainyard.environments.specification import Wanted, parse

HERE = Machine("linux-x86_64", "3.11.7")


def test_the_order_and_spelling_of_a_list_do_not_matter() -> None:
    one = parse(definition(["Flask", "numpy==1.26.4", "azureml-defaults"], ["b", "a"]))
    other = parse(definition(["numpy==1.26.4", "flask"], ["a", "b"]))
    assert fingerprint(one, HERE) == fingerprint(other, HERE)
    assert len(fingerprint(one, HERE)) == 32


@pytest.mark.parametrize(
    "other",
    [
        {"requirements": ("numpy==1.26.3",)},
        {"conda": ("numpy",)},
        {"channels": ("conda-forge",)},
        {"python": "==3.8.*"},
        {"relax": True},
    ],
)
def test_another_wish_has_another_fingerprint(other: dict[str, object]) -> None:
    wanted = Wanted(requirements=("numpy==1.26.4",))
    assert fingerprint(replace(wanted, **other), HERE) != fingerprint(wanted, HERE)  # type: ignore[arg-type]


@pytest.mark.parametrize("other", [{"platform": "linux-aarch64"}, {"python": "3.12.1"}, {"gpu": True}])
def test_another_machine_has_another_fingerprint(other: dict[str, object]) -> None:
    assert fingerprint(Wanted(), replace(HERE, **other)) != fingerprint(Wanted(), HERE)  # type: ignore[arg-type]


def test_with_a_lock_it_does_not_matter_what_it_was_resolved_from() -> None:
    one = Wanted(requirements=("numpy",), lock="abc")
    assert fingerprint(one, HERE) == fingerprint(Wanted(requirements=("pandas",), lock="abc"), HERE)
    assert fingerprint(one, HERE) != fingerprint(Wanted(lock="abd"), HERE)
