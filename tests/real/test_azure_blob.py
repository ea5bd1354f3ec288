"""The Azure Blob adapter against Azurite, Microsoft's emulator. The Makefile installs it where npm is there."""

from __future__ import annotations

import base64
import hashlib
import hmac
import itertools
import urllib.parse

import azurite_here
import pytest
from azurite_here import ACCOUNT, KEY

from trainyard.blobs.depots.objects import object_depot
from trainyard.contract.data import DatastoreKind
from trainyard.contract.errors import BadCredentials, NoSuchData
from trainyard.testing.depot_kit import DepotKit

_numbers = itertools.count()

pytestmark = azurite_here.needed


@pytest.fixture(scope="module")
def azurite(tmp_path_factory):
    with azurite_here.running(str(tmp_path_factory.mktemp("azurite"))) as address:
        yield address


@pytest.fixture
def container(azurite):
    name = f"container{next(_numbers)}"
    depot_of(azurite, name).check(create=True)
    return name


def depot_of(azurite, container, **secrets):
    location = {
        "container_name": container,
        "account_name": ACCOUNT,
        "endpoint": f"http://{azurite}/{ACCOUNT}",
    }
    return object_depot(DatastoreKind.BLOB, location, secrets or {"account_key": KEY}, private=True)


class TestAzureBlob(DepotKit):
    @pytest.fixture
    def depot(self, azurite, container):
        return depot_of(azurite, container)


def test_a_wrong_key_is_said_at_once(azurite, container):
    wrong = base64.b64encode(b"x" * 64).decode()
    with pytest.raises(BadCredentials, match="says no to these credentials") as told:
        depot_of(azurite, container, account_key=wrong).check()
    assert wrong not in str(told.value)


def test_a_container_is_made_with_a_token_too(azurite):
    name = f"container{next(_numbers)}"
    depot_of(azurite, name, sas_token=account_token(permissions="rlc")).check(create=True)
    depot_of(azurite, name).check()


def test_who_may_not_make_a_container_is_told(azurite):
    with pytest.raises(BadCredentials, match="may not make 'unmade'"):
        depot_of(azurite, "unmade", sas_token=account_token(permissions="rl")).check(create=True)


def account_token(permissions):
    """A token for the account's blobs, containers and objects, signed as the store's documentation says."""
    values = {"sp": permissions, "ss": "b", "srt": "sco", "st": "", "se": "2099-01-01", "sip": "", "spr": "https,http"}
    said = "\n".join([ACCOUNT, *values.values(), "2019-12-12", ""])
    signature = base64.b64encode(hmac.new(base64.b64decode(KEY), said.encode(), hashlib.sha256).digest()).decode()
    given = {key: value for key, value in values.items() if value}
    return "?" + urllib.parse.urlencode({"sv": "2019-12-12", **given, "sig": signature})


def test_a_container_that_is_not_there(azurite):
    with pytest.raises(NoSuchData, match="'nowhere' is not there"):
        depot_of(azurite, "nowhere").check()
