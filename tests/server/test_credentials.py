"""An environment's credentials in rows and answers: sealed; for builders: opened."""

from __future__ import annotations

from pathlib import Path

import pytest

from trainyard.contract.errors import EnvironmentRefused
from trainyard.server.credentials import opened, sealed
from trainyard.server.secrets import Secrets

GIVEN = {
    "name": "mine",
    "python": {
        "condaDependencies": {
            "channels": ["https://ada:secret@conda.host/forge"],
            "dependencies": [{"pip": ["--index-url https://ada:secret@pip.host/simple", "git+ssh://git@host/a.git"]}],
        },
        "userManagedDependencies": False,
    },
}


@pytest.fixture
def secrets(tmp_path: Path) -> Secrets:
    return Secrets(str(tmp_path / "secrets.key"))


def test_what_is_kept_is_sealed_and_opens_to_what_was_given(secrets: Secrets) -> None:
    kept = sealed(GIVEN, secrets)
    assert "secret" not in repr(kept)
    assert "git+ssh://git@host/a.git" in repr(kept)
    assert sealed(kept, secrets) == kept
    assert opened(kept, secrets) == GIVEN


def test_a_seal_is_of_no_use_for_another_place(secrets: Secrets) -> None:
    kept = sealed(GIVEN, secrets)
    pip = kept["python"]["condaDependencies"]["dependencies"][0]["pip"][0]
    stolen = {"python": {"condaDependencies": {"channels": [pip.split()[1].replace("pip.host", "thief.host")]}}}
    with pytest.raises(EnvironmentRefused, match=r"sealed for pip\.host"):
        opened(stolen, secrets)
