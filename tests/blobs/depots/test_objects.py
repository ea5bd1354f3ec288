"""The S3 adapter against moto's server. tests/real drives the Azure one against Azurite."""

from __future__ import annotations

import http.client
import itertools

import pytest
from moto.server import ThreadedMotoServer

from trainyard.blobs.depots.objects import object_depot
from trainyard.contract.data import DatastoreKind
from trainyard.contract.errors import BadCredentials, DataAway, DataRefused, NoSuchData
from trainyard.testing.depot_kit import DepotKit

_numbers = itertools.count()
SECRETS = {"access_key_id": "key", "secret_access_key": "very-secret"}


@pytest.fixture(scope="module")
def s3():
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def bucket(s3):
    name = f"bucket-{next(_numbers)}"
    connection = http.client.HTTPConnection(s3.removeprefix("http://"))
    connection.request("PUT", f"/{name}")
    assert connection.getresponse().status == 200
    connection.close()
    return name


def depot_of(s3, bucket, **more):
    location = {"bucket": bucket, "endpoint": s3, **more}
    return object_depot(DatastoreKind.S3, location, SECRETS, private=True)


class TestS3(DepotKit):
    @pytest.fixture
    def depot(self, s3, bucket):
        return depot_of(s3, bucket)


class TestS3BelowAPrefix(DepotKit):
    @pytest.fixture
    def depot(self, s3, bucket):
        return depot_of(s3, bucket, prefix="team/data")


def test_a_bucket_that_is_not_there(s3):
    with pytest.raises(NoSuchData, match="S3 store 'nowhere' is not there"):
        depot_of(s3, "nowhere").check()


def put_object(s3, bucket, key, content=b""):
    """Under a name that the adapter would not give it."""
    connection = http.client.HTTPConnection(s3.removeprefix("http://"))
    connection.request("PUT", f"/{bucket}/{key}", content)
    assert connection.getresponse().status == 200
    connection.close()


@pytest.mark.parametrize("prefix", ["", "top"])
def test_the_mark_of_a_folder_is_no_file(s3, bucket, prefix):
    """Consoles and Hadoop store an empty object 'folder/'."""
    top = f"{prefix}/" if prefix else ""
    for key, content in (("", b""), ("a/", b""), ("a/1", b"x"), ("a/empty", b""), ("alone/", b"")):
        if top + key:
            put_object(s3, bucket, top + key, content)
    assert [it.path for it in depot_of(s3, bucket, prefix=prefix).list("")] == ["a/1", "a/empty"]


@pytest.mark.parametrize("key", ["odd//1", "odd/../../1"])
def test_a_name_that_is_no_path_hides_nothing_beside_it(s3, bucket, key):
    put_object(s3, bucket, "a/1")
    put_object(s3, bucket, key)
    depot = depot_of(s3, bucket)
    depot.check()
    assert [it.path for it in depot.list("a")] == ["a/1"]
    with pytest.raises(DataRefused, match=f"an object named '{key}', which cannot be a path"):
        list(depot.list(""))


@pytest.mark.parametrize("region", [None, "eu-west-1"])
def test_a_bucket_is_made_where_that_is_asked_for(s3, region):
    depot = depot_of(s3, name := f"made-{next(_numbers)}", region=region)
    depot.check(create=True)
    depot_of(s3, name, region=region).check()
    depot.check(create=True)  # it is there


def test_a_bucket_that_cannot_be_made(s3):
    with pytest.raises(DataRefused, match="'No' could not be made: the store answered HTTP 400"):
        depot_of(s3, "No").check(create=True)


@pytest.mark.parametrize("given", [{"access_key_id": "key"}, {"secret_access_key": "very-secret"}])
def test_half_of_the_keys_is_refused(given):
    with pytest.raises(DataRefused, match="belong together") as told:
        object_depot(DatastoreKind.S3, {"bucket": "b"}, given, private=True)
    assert "very-secret" not in str(told.value)


def test_an_endpoint_may_be_a_hosts_name(s3):
    depot = object_depot(DatastoreKind.S3, {"bucket": "b", "endpoint": "files.example"}, SECRETS, private=True)
    assert depot._store.config["endpoint"] == "https://files.example"


def test_a_server_that_is_not_there(bucket, monkeypatch):
    from trainyard.blobs.depots import objects

    monkeypatch.setattr(objects, "_RETRY", {"max_retries": 0})
    with pytest.raises(DataAway, match="does not answer"):
        depot_of("http://127.0.0.1:9", bucket).check()


def test_an_endpoint_of_the_services_own_network_is_refused_to_a_team(bucket, s3):
    with pytest.raises(DataRefused, match="private address"):
        object_depot(DatastoreKind.S3, {"bucket": bucket, "endpoint": s3}, SECRETS, private=False)


@pytest.mark.parametrize("endpoint", ["ftp://host", "http://"])
def test_an_endpoint_that_is_none(endpoint):
    with pytest.raises(DataRefused, match="no http or https address"):
        object_depot(DatastoreKind.S3, {"bucket": "b", "endpoint": endpoint}, SECRETS, private=True)


def test_wrong_credentials_are_said_without_repeating_them():
    """moto takes any key; what the store says is given to the depot by hand."""
    import obstore

    depot = depot_of("http://127.0.0.1:9", "bucket")
    said = obstore.exceptions.UnauthenticatedError("SignatureDoesNotMatch very-secret")
    told = depot._told(said, "file")
    assert isinstance(told, BadCredentials)
    assert "very-secret" not in told.message
