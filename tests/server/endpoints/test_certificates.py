"""Certificates that are refused when they come, and where their keys are kept."""

from __future__ import annotations

import os
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from self_signed import self_signed

from trainyard.contract.endpoints import Certificate
from trainyard.contract.errors import ServiceRefused
from trainyard.server.endpoints import certificates
from trainyard.server.secrets import Secrets

CHAIN, KEY = self_signed("digits.example.com", "*.models.example.com")


@pytest.mark.parametrize("cname", ["digits.example.com", "DIGITS.example.com", "one.models.example.com"])
def test_what_fits(cname: str) -> None:
    certificates.check(Certificate(CHAIN, KEY, cname), time.time_ns())


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (Certificate("no", KEY, "digits.example.com"), "ssl_cert_pem_file holds no certificate in PEM"),
        (Certificate(CHAIN, "no", "digits.example.com"), "ssl_key_pem_file holds no private key in PEM"),
        (Certificate(CHAIN, self_signed("x")[1], "digits.example.com"), "not that of the certificate"),
        (Certificate(CHAIN, KEY, "other.example.com"), r"for digits\.example\.com, .*, not for 'other\.example\.com'"),
        (Certificate(CHAIN, KEY, "a.b.models.example.com"), "Give the ssl_cname that it is for"),
        (Certificate(*self_signed("old.example.com", days=-2), "old.example.com"), "has ended on"),
    ],
)
def test_what_clients_could_never_accept(given: Certificate, says: str) -> None:
    with pytest.raises(ServiceRefused, match=says):
        certificates.check(given, time.time_ns())


def test_the_key_is_kept_encrypted_and_written_for_its_owner_alone(tmp_path: Path) -> None:
    keeper, folder = Secrets(str(tmp_path / "secrets.key")), str(tmp_path / "service")
    said = certificates.columns(Certificate(CHAIN, KEY, "digits.example.com"), keeper)
    assert "PRIVATE KEY" not in str(said)
    path = certificates.file_of(SimpleNamespace(**said), folder, keeper)
    assert path is not None
    assert os.stat(path).st_mode & 0o777 == 0o600
    assert Path(path).read_text() == KEY + CHAIN
    newer = certificates.columns(Certificate(*self_signed("digits.example.com"), "digits.example.com"), keeper)
    other = certificates.file_of(SimpleNamespace(**newer), folder, keeper)
    assert [entry.path for entry in os.scandir(folder)] == [other] != [path]
    assert certificates.file_of(SimpleNamespace(chain=None), folder, keeper) is None
