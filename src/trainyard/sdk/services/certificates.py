"""ssl_enabled, ssl_cname, ssl_cert_pem_file and ssl_key_pem_file: the certificate of a service that answers https."""

from __future__ import annotations

from typing import Any

from trainyard.contract.endpoints import Certificate
from trainyard.sdk.effects import tell_once
from trainyard.sdk.errors import WebserviceException

_FILES = ("ssl_cert_pem_file", "ssl_key_pem_file")


def certificate_of(given: dict[str, Any], where: str, cname: str | None = None) -> Certificate | None:
    """None: plain http. `cname`: that of the certificate it takes the place of."""
    cname = given.get("ssl_cname") or cname
    needs = {"ssl_cname": cname, **{name: given.get(name) for name in _FILES}}
    if not given.get("ssl_enabled"):
        if any(given.get(name) for name in needs):
            tell_once(f"{where}: without ssl_enabled=True the certificate is not used.")
        return None
    missing = [name for name, value in needs.items() if not value]
    if missing:
        raise WebserviceException(
            f"ssl_enabled needs ssl_cname, ssl_cert_pem_file and ssl_key_pem_file; {' and '.join(missing)} "
            f"{'is' if len(missing) == 1 else 'are'} missing. Give the name that clients use and the two files."
        )
    chain, key = (_text(name, given[name]) for name in _FILES)
    return Certificate(chain, key, str(cname))


def _text(name: str, path: Any) -> str:
    try:
        with open(path, encoding="ascii") as file:
            return file.read()
    except (OSError, TypeError, ValueError) as error:
        what = getattr(error, "strerror", None) or str(error)
        raise WebserviceException(
            f"{name} {path!r} cannot be read: {what}. Give the path of a PEM file.", error
        ) from error
