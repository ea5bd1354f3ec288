"""Buckets and containers, made: the one thing of theirs that obstore does not do."""

from __future__ import annotations

import base64
import binascii
import datetime
import hashlib
import hmac
import html
import http.client
import urllib.parse
from collections.abc import Mapping

from trainyard.blobs.depots.web import connect
from trainyard.contract.errors import BadCredentials, DataAway, DataRefused

_AZURE_VERSION = "2021-08-06"
_USUAL_REGION = "us-east-1"  # the one that S3 must not be told
_HEADERS_SIGNED_EMPTY = 11  # of SharedKey's text, between the method and the headers of Azure's own


def make_bucket(name: str, signed: str, region: str, *, private: bool) -> None:
    """`signed`: the bucket's address, signed for one PUT."""
    body = ""
    if region != _USUAL_REGION:
        where = f"<LocationConstraint>{html.escape(region)}</LocationConstraint>"
        body = f"<CreateBucketConfiguration>{where}</CreateBucketConfiguration>"
    _put(name, signed, {}, body, private=private)


def make_container(name: str, service: str, account: str, secrets: Mapping[str, str], *, private: bool) -> None:
    address = f"{service.rstrip('/')}/{urllib.parse.quote(name)}?restype=container"
    date = datetime.datetime.now(datetime.UTC).strftime("%a, %d %b %Y %H:%M:%S GMT")
    headers = {"x-ms-date": date, "x-ms-version": _AZURE_VERSION}
    if token := secrets.get("sas_token"):
        address += "&" + token.lstrip("?")
    elif key := secrets.get("account_key"):
        said = "".join(f"{header}:{headers[header]}\n" for header in sorted(headers))
        resource = f"/{account}{urllib.parse.urlsplit(address).path}\nrestype:container"
        text = "PUT\n" + "\n" * _HEADERS_SIGNED_EMPTY + said + resource
        headers["Authorization"] = f"SharedKey {account}:{_signature(key, text)}"
    _put(name, address, headers, "", private=private)


def _signature(key: str, text: str) -> str:
    try:
        secret = base64.b64decode(key, validate=True)
    except binascii.Error:
        raise BadCredentials("The account_key is no base 64. Copy it again from the account's keys.") from None
    return base64.b64encode(hmac.new(secret, text.encode(), hashlib.sha256).digest()).decode()


def _put(name: str, address: str, headers: dict[str, str], body: str, *, private: bool) -> None:
    connection, target = connect(address, name, private=private)
    try:
        connection.request("PUT", target, body.encode(), {**headers, "Content-Length": str(len(body))})
        answer = connection.getresponse()
        answer.read()
    except (OSError, http.client.HTTPException) as error:
        raise DataAway(f"The store that {name!r} is to be made in does not answer ({error}). Try again.") from error
    finally:
        connection.close()
    if answer.status in (401, 403):
        raise BadCredentials(
            f"These credentials may not make {name!r}. Make it with the store's own tools, or use others."
        )
    if answer.status not in (200, 201, 409):  # 409: somebody was quicker
        raise DataRefused(
            f"{name!r} could not be made: the store answered HTTP {answer.status}. Check the name, or make it with the "
            "store's own tools."
        )
