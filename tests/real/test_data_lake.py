"""Data Lake Gen2 as a service principal: Azurite lets in whoever has a token, which a sign-in of ours gives out."""

from __future__ import annotations

import base64
import datetime
import http.server
import ipaddress
import itertools
import json
import threading
import time
import urllib.parse

import azurite_here
import pytest
from azurite_here import ACCOUNT, KEY
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from trainyard.blobs.depots.objects import object_depot
from trainyard.contract.data import DatastoreKind
from trainyard.contract.errors import BadCredentials, DataRefused, NoSuchData
from trainyard.testing.depot_kit import DepotKit

_numbers = itertools.count()

pytestmark = azurite_here.needed


class SignIn(http.server.BaseHTTPRequestHandler):
    """A tenant with one principal."""

    def do_POST(self):
        said = dict(urllib.parse.parse_qsl(self.rfile.read(int(self.headers["Content-Length"])).decode()))
        known = (self.path, said["client_id"], said["client_secret"]) == (
            "/tenant/oauth2/v2.0/token",
            "principal",
            "its-secret",
        )
        answer = {"access_token": token(), "expires_in": 3600, "token_type": "Bearer"}
        no = {"error": "invalid_client", "error_description": "AADSTS7000215: Invalid client secret provided."}
        body = json.dumps(answer if known else no).encode()
        self.send_response(200 if known else 401)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def token():
    """What the emulator looks at: for whom, from whom, until when. It checks no signature."""
    now = int(time.time())
    claims = {"aud": "https://storage.azure.com", "iss": "https://sts.windows.net/tenant/", "nbf": now - 60}
    parts = {"alg": "none", "typ": "JWT"}, {**claims, "iat": now - 60, "exp": now + 3600}
    return ".".join([*(base64.urlsafe_b64encode(json.dumps(it).encode()).decode().rstrip("=") for it in parts), "x"])


@pytest.fixture(scope="module")
def sign_in():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), SignIn)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    """The emulator over TLS, which it wants for tokens. Clients find its authority where all programs look."""
    folder = tmp_path_factory.mktemp("lake")
    authority, certificate, key = certificates(folder)
    options = ["--oauth", "basic", "--cert", certificate, "--key", key]
    with pytest.MonkeyPatch.context() as patch, azurite_here.running(str(folder / "place"), *options) as address:
        patch.setenv("SSL_CERT_FILE", authority)
        yield f"https://{address}/{ACCOUNT}"


def certificates(folder):
    """An authority's certificate, and one of it for 127.0.0.1 with its key."""
    now = datetime.datetime.now(datetime.UTC)
    ours, theirs = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    us = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "authority")])
    them = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])

    def signed(subject, key, *, authority):
        address = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
        made = x509.CertificateBuilder().subject_name(subject).issuer_name(us).public_key(key.public_key())
        made = made.serial_number(x509.random_serial_number()).not_valid_before(now - datetime.timedelta(days=1))
        made = made.not_valid_after(now + datetime.timedelta(days=1)).add_extension(address, critical=False)
        made = made.add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
        return made.sign(ours, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)

    form = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    contents = {
        "authority.pem": signed(us, ours, authority=True),
        "own.pem": signed(them, theirs, authority=False),
        "key.pem": theirs.private_bytes(serialization.Encoding.PEM, *form),
    }
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    return [str(folder / name) for name in contents]


def depot_of(lake, sign_in, filesystem, secret="its-secret", *, private=True):
    location = {"container_name": filesystem, "account_name": ACCOUNT, "endpoint": lake, "authority_url": sign_in}
    location |= {"tenant_id": "tenant", "client_id": "principal"}
    return object_depot(DatastoreKind.DATA_LAKE, location, {"client_secret": secret}, private=private)


@pytest.fixture
def filesystem(lake):
    """Made with the account's key, as its owner makes it."""
    name = f"filesystem{next(_numbers)}"
    location = {"container_name": name, "account_name": ACCOUNT, "endpoint": lake}
    object_depot(DatastoreKind.BLOB, location, {"account_key": KEY}, private=True).check(create=True)
    return name


class TestDataLake(DepotKit):
    @pytest.fixture
    def depot(self, lake, sign_in, filesystem):
        return depot_of(lake, sign_in, filesystem)


def test_a_wrong_secret_is_said_at_once(lake, sign_in, filesystem):
    with pytest.raises(BadCredentials, match="says no to these credentials") as told:
        depot_of(lake, sign_in, filesystem, "another-secret").check()
    assert "another-secret" not in str(told.value)


def test_a_filesystem_that_is_not_there(lake, sign_in):
    with pytest.raises(NoSuchData, match="'nowhere' is not there"):
        depot_of(lake, sign_in, "nowhere").check()


def test_a_sign_in_of_the_services_own_network_is_refused_to_a_team(sign_in):
    with pytest.raises(DataRefused, match="private address"):
        depot_of("https://lake.example", sign_in, "x", private=False)
