"""Secrets at rest."""

from __future__ import annotations

from pathlib import Path

import pytest

from trainyard.server.secrets import Secrets, SecretsLost


def test_what_was_encrypted_comes_back_after_a_restart(tmp_path: Path) -> None:
    token = Secrets(str(tmp_path / "secrets.key")).encrypt("a key of 32 letters")
    assert "letters" not in token
    assert Secrets(str(tmp_path / "secrets.key")).decrypt(token) == "a key of 32 letters"


def test_the_key_file_is_its_owner_s_alone(tmp_path: Path) -> None:
    path = tmp_path / "secrets.key"
    Secrets(str(path)).encrypt("x")
    assert path.stat().st_mode & 0o777 == 0o600
    assert [file.name for file in tmp_path.iterdir()] == ["secrets.key"]


def test_a_key_of_another_home_is_told(tmp_path: Path) -> None:
    token = Secrets(str(tmp_path / "one")).encrypt("x")
    with pytest.raises(SecretsLost, match="Put the key file of this database back"):
        Secrets(str(tmp_path / "other")).decrypt(token)
