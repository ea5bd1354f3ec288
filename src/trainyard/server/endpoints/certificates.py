"""Certificates that services answer https with: checked when they come, kept with their key encrypted, written for the
front into a file that only the owner of the home can read."""

from __future__ import annotations

import contextlib
import hashlib
import os
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from sqlalchemy import Row

from trainyard.blobs.base import replacing
from trainyard.contract.endpoints import Certificate
from trainyard.contract.errors import ServiceRefused
from trainyard.server.secrets import Secrets

if TYPE_CHECKING:
    from cryptography import x509

_FILE, _END = "certificate-", ".pem"


def check(given: Certificate, now_ns: int) -> None:
    """ServiceRefused if clients could never accept it."""
    from cryptography.hazmat.primitives.serialization import load_pem_private_key
    from cryptography.x509 import load_pem_x509_certificate

    try:
        own = load_pem_x509_certificate(given.chain.encode())
    except ValueError as error:
        raise ServiceRefused(
            f"The file of ssl_cert_pem_file holds no certificate in PEM ({error}). Give the one that begins with "
            "-----BEGIN CERTIFICATE-----."
        ) from error
    try:
        key = load_pem_private_key(given.key.encode(), password=None)
    except (ValueError, TypeError) as error:
        raise ServiceRefused(
            f"The file of ssl_key_pem_file holds no private key in PEM without a password ({error}). Give one that "
            "begins with -----BEGIN PRIVATE KEY-----."
        ) from error
    if key.public_key() != own.public_key():
        raise ServiceRefused("The key of ssl_key_pem_file is not that of the certificate. Give the two that belong.")
    now = datetime.fromtimestamp(now_ns / 1e9, UTC)
    if own.not_valid_after_utc < now:
        raise ServiceRefused(f"The certificate has ended on {own.not_valid_after_utc:%d %B %Y}. Give a newer one.")
    names = names_of(own)
    if not any(fits(name, given.cname) for name in names):
        raise ServiceRefused(
            f"The certificate is for {', '.join(names) or 'no name'}, not for {given.cname!r}. Give the ssl_cname "
            "that it is for."
        )


def names_of(own: x509.Certificate) -> list[str]:
    """The names and addresses that clients look at; its subject is none of them."""
    from cryptography.x509 import DNSName, ExtensionNotFound, IPAddress, SubjectAlternativeName

    try:
        said = own.extensions.get_extension_for_class(SubjectAlternativeName).value
    except ExtensionNotFound:
        return []
    return [*said.get_values_for_type(DNSName), *(str(it) for it in said.get_values_for_type(IPAddress))]


def fits(name: str, cname: str) -> bool:
    """`*.example.com` is for one part more, and not for two."""
    name, cname = name.lower(), cname.lower()
    return name == cname or (name.startswith("*.") and name[2:] == cname.partition(".")[2])


def columns(given: Certificate, keeper: Secrets) -> dict[str, Any]:
    return {"chain": given.chain, "chain_key_secret": keeper.encrypt(given.key), "cname": given.cname}


def file_of(row: Row[Any], folder: str, keeper: Secrets) -> str | None:
    """Its name says what is in it, so that a plan with another certificate is another plan."""
    if row.chain is None:
        return None
    digest = hashlib.sha256(f"{row.chain}{row.chain_key_secret}".encode()).hexdigest()[:16]
    path = os.path.join(folder, f"{_FILE}{digest}{_END}")
    if not os.path.exists(path):
        os.makedirs(folder, mode=0o700, exist_ok=True)
        with replacing(path) as fd:  # mode 0600
            os.write(fd, f"{keeper.decrypt(row.chain_key_secret).rstrip()}\n{row.chain}".encode())
        _remove_others(folder, os.path.basename(path))
    return path


def _remove_others(folder: str, kept: str) -> None:
    for entry in os.scandir(folder):
        if entry.name.startswith(_FILE) and entry.name.endswith(_END) and entry.name != kept:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(entry.path)
