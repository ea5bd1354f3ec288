"""Datastores and datasets over HTTP."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import replace

import pytest
from sqlalchemy import create_engine, make_url, text

from trainyard.client.data import Data
from trainyard.client.workspaces import Workspaces
from trainyard.contract.data import (
    DataMode,
    DatasetChange,
    DatasetDefinition,
    DataSource,
    DatastoreKind,
    DataUse,
    NewDataset,
    NewDatastore,
)
from trainyard.contract.errors import (
    AlreadyExists,
    Conflict,
    DataRefused,
    InvalidName,
    InvalidRequest,
    NoSuchData,
    UnknownDataset,
    UnknownDatastore,
)
from trainyard.server.data import service
from trainyard.server.scope import Scope
from trainyard.server.secrets import Secrets, SecretsLost

FILES = DatasetDefinition("file", (DataSource("mnist", "workspaceblobstore"),))


@pytest.fixture
def workspace(http_client):
    return Workspaces(http_client).create("yard").id


@pytest.fixture
def data(http_client, workspace):
    return Data(http_client, workspace)


def folder_store(tmp_path, name="mine", **changes):
    (tmp_path / "store").mkdir(exist_ok=True)
    return NewDatastore(name, DatastoreKind.FOLDER, {"path": str(tmp_path / "store")}, **changes)


# Datastores


def test_every_workspace_has_two_of_its_own(data):
    assert [(it.name, it.kind.value, it.is_default) for it in data.datastores()] == [
        ("workspaceblobstore", "AzureBlob", True),
        ("workspacefilestore", "AzureFile", False),
    ]
    with pytest.raises(Conflict):
        data.unregister_datastore("workspaceblobstore")


def test_either_of_its_own_may_be_the_default(data):
    assert data.set_default_datastore("workspacefilestore").is_default
    for _ in range(2):  # the second time changes nothing
        assert [(it.name, it.is_default) for it in data.datastores()] == [
            ("workspaceblobstore", False),
            ("workspacefilestore", True),
        ]
        data.set_default_datastore("workspacefilestore")
    data.set_default_datastore("workspaceblobstore")
    assert [it.is_default for it in data.datastores()] == [True, False]


def test_one_is_registered_made_default_replaced_and_unregistered(data, tmp_path):
    new = folder_store(tmp_path)
    assert data.register_datastore(new).path == str(tmp_path / "store")
    assert data.set_default_datastore("mine").is_default
    assert [it.name for it in data.datastores() if it.is_default] == ["mine"]
    data.set_default_datastore("workspacefilestore")
    assert data.set_default_datastore("mine").is_default
    assert [it.name for it in data.datastores() if it.is_default] == ["mine"]
    with pytest.raises(AlreadyExists, match="overwrite=True"):
        data.register_datastore(new)
    assert data.register_datastore(replace(new, overwrite=True)).is_default
    data.unregister_datastore("mine")
    assert [it.name for it in data.datastores() if it.is_default] == ["workspaceblobstore"]
    with pytest.raises(UnknownDatastore, match="workspaceblobstore, workspacefilestore"):
        data.datastore("mine")


@pytest.mark.parametrize(
    ("new", "error", "says"),
    [
        (NewDatastore("a b", DatastoreKind.FOLDER, {"path": "/"}), InvalidName, "letters, digits"),
        (NewDatastore("workspaceblobstore", DatastoreKind.FOLDER, {"path": "/"}), Conflict, "own datastore"),
        (NewDatastore("x", DatastoreKind.FOLDER, {"path": "relative"}), DataRefused, "absolute path"),
        (NewDatastore("x", DatastoreKind.FOLDER, {"path": "/never/there"}), DataRefused, "There is no folder"),
        (NewDatastore("x", DatastoreKind.SQL, {"address": "nonsense"}), DataRefused, "not one that this service"),
    ],
)
def test_what_cannot_be_used_is_said_at_once(data, new, error, says):
    with pytest.raises(error, match=says):
        data.register_datastore(new)


def test_a_job_may_not_register_datastores(call, context, data, workspace, tmp_path):
    with context.db.write() as tx:
        context.authenticator.grant_attempt(tx, "a1", "r1", 1, workspace, "ada", 1)
    token = context.authenticator.attempt_token("a1")
    path = f"/api/v1/workspaces/{workspace}/datastores"
    assert call("POST", path, {"name": "x"}, token=token).status == 403
    assert call("GET", path, token=token).status == 200
    assert call("GET", "/api/v1/workspaces/another/datastores/x/content?path=a", token=token).status == 403


def test_credentials_are_sealed_and_never_come_back(data, context, tmp_path, call, workspace):
    new = NewDatastore(
        "s3",
        DatastoreKind.S3,
        {"bucket": "b", "endpoint": "http://127.0.0.1:9"},
        {"access_key_id": "me", "secret_access_key": "hush"},
        validate=False,
    )
    record = data.register_datastore(new)
    assert record.has_credentials
    assert "hush" not in repr(record) + repr(new)
    with context.db.read() as tx:
        sealed = tx.execute(text("SELECT sealed FROM datastores")).scalar_one()
    assert "hush" not in sealed
    key = tmp_path / "secrets.key"
    assert key.stat().st_mode & 0o777 == 0o600
    assert json.loads(Secrets(str(key)).decrypt(sealed)) == {"access_key_id": "me", "secret_access_key": "hush"}
    with pytest.raises(SecretsLost, match="Put the key file"):
        Secrets(str(tmp_path / "other.key")).decrypt(sealed)
    answer = call("POST", f"/api/v1/workspaces/{workspace}/datastores", {"name": "s4", "secrets": "hush"})
    assert answer.status == 400
    assert b"hush" not in answer.body


# Files through the service


def test_files_travel_through_the_service(data, tmp_path):
    (tmp_path / "one").write_bytes(b"0123456789")
    for path in ("a/1", "a/2", "b/1"):
        with (tmp_path / "one").open("rb") as content:
            data.put_file("workspaceblobstore", path, content)
    assert [(it.path, it.size) for it in data.files("workspaceblobstore", "a")] == [("a/1", 10), ("a/2", 10)]
    seen = data.file("workspaceblobstore", "a/1")
    assert b"".join(data.read_file("workspaceblobstore", "a/1", 4, seen.version)) == b"456789"
    assert data.file("workspaceblobstore", "a/3") is None
    with pytest.raises(NoSuchData):
        list(data.read_file("workspaceblobstore", "a/3", 0, ""))
    with pytest.raises(DataRefused, match="cannot be a path"):
        data.file("workspaceblobstore", "../../token")
    data.delete_file("workspaceblobstore", "a/1")
    assert data.file("workspaceblobstore", "a/1") is None


def test_a_list_comes_in_pages(data, tmp_path, monkeypatch):
    from trainyard.client import data as client
    from trainyard.server.data import files

    monkeypatch.setattr(client, "_PAGE", 2)
    monkeypatch.setattr(files, "_PAGE", 2)
    data.register_datastore(folder_store(tmp_path))
    for number in range(5):
        (tmp_path / f"store/{number}").write_text("x")
    assert [it.path for it in data.files("mine", "")] == ["0", "1", "2", "3", "4"]


# Datasets


def test_versions_count_up_and_the_latest_is_found(data):
    first = data.save(NewDataset(FILES, "mnist", "digits", {"a": "1"}))
    assert (first.name, first.version, first.latest, first.tags) == ("mnist", 1, True, {"a": "1"})
    with pytest.raises(AlreadyExists, match="create_new_version=True"):
        data.save(NewDataset(FILES, "mnist"))
    same = data.save(NewDataset(FILES, "mnist", new_version=True, tags={"b": "2"}))
    assert (same.dataset_id, same.version, same.tags) == (first.dataset_id, 1, {"a": "1", "b": "2"})
    other = replace(FILES, sources=(DataSource("mnist2", "workspaceblobstore"),))
    second = data.save(NewDataset(other, "mnist", new_version=True))
    assert second.version == 2
    assert data.by_name("mnist").dataset_id == second.dataset_id
    assert data.by_name("mnist", 1).latest is False
    assert [it.version for it in data.versions("mnist")] == [2, 1]
    assert [(it.name, it.version) for it in data.datasets()] == [("mnist", 2)]
    with pytest.raises(UnknownDataset, match=r"No version 7 of dataset 'mnist' .* there are: 1, 2"):
        data.by_name("mnist", 7)


def test_an_unnamed_one_is_kept_once(data):
    first = data.save(NewDataset(FILES))
    assert data.save(NewDataset(FILES)).dataset_id == first.dataset_id
    assert data.by_id(first.dataset_id).definition == FILES
    assert data.datasets() == []


def test_what_is_unregistered_is_still_found_by_its_id(data):
    record = data.save(NewDataset(FILES, "mnist"))
    data.unregister("mnist")
    with pytest.raises(UnknownDataset):
        data.by_name("mnist")
    assert data.by_id(record.dataset_id).name is None
    assert data.save(NewDataset(FILES, "mnist")).version == 1


def test_tags_and_description_change(data):
    record = data.save(NewDataset(FILES, "mnist", tags={"a": "1"}))
    assert data.change(record.dataset_id, DatasetChange("more")).description == "more"
    assert data.change(record.dataset_id, DatasetChange(tags={})).tags == {}


@pytest.mark.parametrize("name", ["", "-x", "a/b", "x" * 300])
def test_names_follow_the_rule(data, name):
    with pytest.raises(InvalidName):
        data.save(NewDataset(FILES, name))


def test_a_kind_nobody_knows(data):
    with pytest.raises(InvalidRequest):
        data.save(NewDataset(DatasetDefinition("sound"), "x"))


# Lineage


def test_lineage_is_found_from_both_ends(data, context, workspace):
    use = DataUse("r1", "digits", False, DataMode.MOUNT, "id", "mnist", 3, "d1", 4, 100, FILES.sources)
    with context.db.write() as tx:
        service.note_uses(tx, Scope(1, workspace, "ada"), [use], 1)
        service.note_uses(tx, Scope(1, workspace, "ada"), [replace(use, digest="d2")], 2)  # a later attempt
    assert data.uses_of_run("r1") == [replace(use, digest="d2")]
    assert data.uses_of_dataset("mnist") == data.uses_of_dataset("mnist", 3) == data.uses_of_run("r1")
    assert data.uses_of_dataset("mnist", 2) == []


# Databases


@pytest.fixture
def database(data, tmp_path):
    rows = sqlite3.connect(tmp_path / "shop.db")
    rows.executescript(
        "CREATE TABLE t (n INTEGER, s TEXT, b BLOB); INSERT INTO t VALUES (1, 'a', x'00ff'), (2, NULL, NULL)"
    )
    rows.close()
    data.register_datastore(NewDatastore("shop", DatastoreKind.SQL, {"address": f"sqlite:///{tmp_path / 'shop.db'}"}))
    return data


def test_a_query_is_answered_by_column(database):
    answer = database.query("shop", "SELECT n, s, b FROM t ORDER BY n")
    assert answer.columns == ("n", "s", "b")
    assert answer.kinds == ("number", "text", "bytes")
    assert answer.values == [[1, 2], ["a", None], ["AP8=", None]]
    assert database.query("shop", "SELECT n FROM t ORDER BY n", 1).values == [[1]]


@pytest.fixture(params=["sqlite", "postgres"])
def any_database(request, database):
    """The name of a datastore with a table t of two rows."""
    if request.param == "sqlite":
        return "shop"
    url = request.getfixturevalue("postgres_schema")
    engine = create_engine(url)
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE t (n INTEGER)")
        connection.exec_driver_sql("INSERT INTO t VALUES (1), (2)")
    engine.dispose()
    given = make_url(url)
    location = {"address": given.set(password=None).render_as_string()}
    secrets = {"password": given.password} if given.password else {}
    database.register_datastore(NewDatastore("elsewhere", DatastoreKind.SQL, location, secrets))
    return "elsewhere"


@pytest.mark.parametrize("statement", ["DROP TABLE t", "DELETE FROM t", "INSERT INTO t (n) VALUES (3)", "", "-- none"])
def test_a_query_changes_nothing(database, any_database, statement):
    with pytest.raises(DataRefused):
        database.query(any_database, statement)
    assert database.query(any_database, "SELECT n FROM t ORDER BY n").values == [[1, 2]]


def test_a_query_is_asked_as_it_is_written(database, any_database):
    asked = "SELECT ':name' AS a, '100%' AS b, '%s' AS c, n FROM t WHERE n % 2 = 1"
    assert database.query(any_database, asked).values == [[":name"], ["100%"], ["%s"], [1]]


def test_a_database_that_is_not_there_is_said_and_not_made(data, tmp_path):
    with pytest.raises(DataRefused, match=r"There is no database .*typo\.db"):
        data.register_datastore(NewDatastore("x", DatastoreKind.SQL, {"address": f"sqlite:///{tmp_path}/typo.db"}))
    assert not (tmp_path / "typo.db").exists()


def test_what_a_query_cannot_do(database):
    with pytest.raises(DataRefused, match="no such table: missing"):
        database.query("shop", "SELECT * FROM missing")
    with pytest.raises(DataRefused, match="has files, not tables"):
        database.query("workspaceblobstore", "SELECT 1")
    with pytest.raises(DataRefused, match="it has tables, not files"):
        list(database.files("shop", ""))
