"""What is kept, what goes, and what never goes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from trainyard.contract.errors import EnvironmentRefused
from trainyard.environments.store import Built, Store

A, B, C = "a" * 32, "b" * 32, "c" * 32


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(str(tmp_path))


def put(store: Store, key: str, size: int, used: float) -> None:
    with store.building(key) as folder:
        os.makedirs(os.path.join(folder, "bin"))
        os.symlink("/bin/sh", os.path.join(folder, "bin", "python"))
        store.mark(Built(key, os.path.join(folder, "bin", "python"), "3.11.7", "six==1", size=size))
    os.utime(store.state(key, "using"), (used, used))


def test_what_is_not_marked_is_not_there(store: Store) -> None:
    with store.building(A) as folder:
        os.makedirs(folder)
        assert store.find(A) is None
        assert store.is_building(A)
    assert not os.path.exists(folder)
    assert not store.is_building(A)


def test_the_least_recently_used_goes_first(store: Store) -> None:
    for key, used in ((A, 30.0), (B, 10.0), (C, 20.0)):
        put(store, key, 100, used)
    assert store.sweep(300, print) == []
    assert store.sweep(150, print) == [B, C]
    assert store.keys() == [A]


def test_one_in_use_never_goes(store: Store) -> None:
    put(store, A, 100, 10.0)
    put(store, B, 100, 20.0)
    with store.use(A) as built:
        assert built is not None
        assert not store.remove(A)
        assert store.sweep(0, print) == [B]
    assert store.sweep(0, print) == [A]


def test_using_it_makes_it_the_last_to_go(store: Store) -> None:
    put(store, A, 100, 10.0)
    put(store, B, 100, 20.0)
    store.touch(A)
    assert store.sweep(100, print) == [B]


def test_one_whose_python_went_away_is_not_there(store: Store) -> None:
    put(store, A, 100, 10.0)
    os.unlink(os.path.join(store.folder(A), "bin", "python"))
    assert store.find(A) is None
    assert store.sweep(1 << 30, print) == [A]


def test_a_bare_environment_is_none_of_its_business(store: Store) -> None:
    os.makedirs(os.path.join(store.root, "bare-3.11"))
    assert store.sweep(0, print) == []
    assert os.path.isdir(os.path.join(store.root, "bare-3.11"))


@pytest.mark.parametrize("key", ["../../etc", "", "A" * 32, "a" * 31])
def test_a_key_never_becomes_another_path(store: Store, key: str) -> None:
    with pytest.raises(EnvironmentRefused):
        store.folder(key)
