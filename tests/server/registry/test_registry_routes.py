"""The registry, over the application's own routes and the real client."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from trainyard.blobs.bundle import bundle_path
from trainyard.client.http import Http
from trainyard.client.models import Models
from trainyard.client.workspaces import Workspaces
from trainyard.contract.errors import Conflict, InvalidName, InvalidRequest, UnknownBlob, UnknownModel
from trainyard.contract.models import ModelChange, ModelQuery, ModelSource, NewModel, Resources
from trainyard.server.context import Context


@pytest.fixture
def models(http_client: Http) -> Models:
    return Models(http_client, Workspaces(http_client).create("yard").id)


@pytest.fixture
def content(context: Context, tmp_path: Path) -> str:
    path = tmp_path / "digits.pkl"
    path.write_bytes(b"weights")
    return bundle_path(context.blobs, str(path))


def new(content: str, name: str = "digits", request: str = "r1", **more: object) -> NewModel:
    return NewModel(name, ModelSource(content=content), request, **more)  # type: ignore[arg-type]


def test_versions_count_up_from_one(models: Models, content: str) -> None:
    first = models.register(new(content, request="a"))
    second = models.register(new(content, request="b", tags={"area": "digits"}, description="better"))
    assert (first.id, first.files, first.size, first.created_by) == ("digits:1", 1, 7, "ada")
    assert (second.id, second.tags, second.description) == ("digits:2", {"area": "digits"}, "better")
    assert models.get("digits").id == "digits:2"
    assert models.get("digits:1").id == "digits:1"


def test_a_request_that_is_sent_twice_registers_once(models: Models, content: str) -> None:
    assert models.register(new(content)).id == models.register(new(content)).id == "digits:1"
    assert [it.id for it in models.find_all(ModelQuery())] == ["digits:1"]


def test_many_at_once_leave_no_gap(models: Models, content: str) -> None:
    made: list[int] = []

    def register(at: int) -> None:
        made.append(models.register(new(content, request=f"r{at}")).version)

    threads = [threading.Thread(target=register, args=(at,)) for at in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(made) == [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]


def test_a_deleted_version_is_never_given_again(models: Models, content: str) -> None:
    models.register(new(content, request="a"))
    models.register(new(content, request="b"))
    models.delete("digits:2")
    assert models.register(new(content, request="c")).id == "digits:3"
    with pytest.raises(UnknownModel, match="ModelNotFound: Model with name digits, version 2"):
        models.get("digits:2")


def test_pages_and_filters(models: Models, content: str) -> None:
    for at in range(5):
        models.register(new(content, "even" if at % 2 == 0 else "odd", f"r{at}", tags={"at": str(at)}))
    assert [it.tags["at"] for it in models.find_all(ModelQuery(limit=2))] == ["4", "3", "2", "1", "0"]
    assert [it.id for it in models.find_all(ModelQuery(latest=True))] == ["even:3", "odd:2"]
    assert [it.id for it in models.find_all(ModelQuery(tags=(("at", "3"),)))] == ["odd:2"]
    assert [it.id for it in models.find_all(ModelQuery(name="even", tags=(("at",),)))] == ["even:3", "even:2", "even:1"]


def test_an_alias_is_on_one_version_at_a_time(models: Models, content: str) -> None:
    models.register(new(content, request="a"))
    models.register(new(content, request="b"))
    models.set_alias("digits:1", "champion")
    assert models.get("digits@champion").id == "digits:1"
    assert models.set_alias("digits:2", "champion").aliases == ("champion",)
    assert models.get("digits@champion").id == "digits:2"
    assert models.get("digits:1").aliases == ()
    assert models.get("digits@latest").id == "digits:2"
    models.remove_alias("digits:2", "champion")
    with pytest.raises(UnknownModel):
        models.get("digits@champion")
    with pytest.raises(InvalidName, match="cannot be the name of an alias"):
        models.set_alias("digits:1", "latest")


def test_changes(models: Models, content: str) -> None:
    models.register(new(content, tags={"a": "1", "b": "2"}, resources=Resources(cpu=1, memory_in_gb=0.5)))
    wish = ModelChange(set_tags={"c": "3"}, remove_tags=("a",), add_properties={"p": "q"}, description="said")
    changed = models.change("digits:1", wish)
    assert (changed.tags, changed.properties, changed.description) == ({"b": "2", "c": "3"}, {"p": "q"}, "said")
    assert changed.resources == Resources(1, 0.5, None)
    with pytest.raises(Conflict, match="properties are written once"):
        models.change("digits:1", ModelChange(add_properties={"p": "other"}))


@pytest.mark.parametrize(
    ("wrong", "error", "says"),
    [
        ({"name": "../up"}, InvalidName, "cannot be the name of a model"),
        ({"framework_version": "2.0"}, InvalidRequest, "model_framework_version says little"),
        ({"framework": "Caffe"}, InvalidRequest, "Use one of: Custom, TensorFlow"),
        ({"resources": Resources(cpu=-1)}, InvalidRequest, "give a number above 0"),
        ({"content": "0" * 64}, UnknownBlob, "Upload it again"),
    ],
)
def test_what_makes_no_sense_is_refused(
    models: Models, content: str, wrong: dict, error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        models.register(new(wrong.pop("content", content), **wrong))
    assert list(models.find_all(ModelQuery())) == []
