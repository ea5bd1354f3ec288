"""Looking for runs, through the application's own routes."""

from __future__ import annotations

import base64
import random
import struct
from collections.abc import Callable

import pytest

from trainyard.contract.tape import FLOAT, NAME
from trainyard.server.runs import search as searching

_CELL = struct.Struct("<BBHIqqd")
_INT = struct.Struct("<BBHIqqq")
Find = Callable[..., list[str]]


@pytest.fixture
def workspace(call) -> str:
    return f"/api/v1/workspaces/{call('POST', '/api/v1/workspaces', {'name': 'yard'}).json['id']}"


@pytest.fixture(params=["looked at one by one", "walked"])
def way(request, monkeypatch) -> None:
    """Both ways to a page answer the same."""
    if request.param == "walked":
        monkeypatch.setattr(searching, "FEW", -1)


def cells(*points: tuple[str, float, int]) -> bytes:
    """A tape of (name, value, time)."""
    found, names = b"", []
    for name, value, time in points:
        if name not in names:
            names.append(name)
            found += _INT.pack(NAME, 0, 1, len(names), 0, 0, len(name)) + b"\xff" + name.encode().ljust(31, b"\0")
        found += _CELL.pack(FLOAT, 0, 0, names.index(name) + 1, 0, time, value)
    return found


@pytest.fixture
def made(call, workspace: str) -> None:
    """a, b, c, d and e, with losses 0.5, 0.1, none, NaN and 0.3; b is over; d is a child of a."""

    def make(run_id: str, points: tuple = (), **more: object) -> None:
        answer = call("POST", f"{workspace}/runs", {"experiment": "first", "run_id": run_id, **more})
        assert answer.status == 200, answer.body
        if points:
            tape = call("POST", f"{workspace}/runs/{run_id}/tape?stream=t&offset=0", body=cells(*points))
            assert tape.status == 200, tape.body

    make("a", (("loss", 0.2, 1), ("loss", 0.5, 2)), tags={"team": "vision", "n": "5"})
    make("b", (("loss", 0.1, 1), ("acc", 0.9, 1)), tags={"team": "Vision"}, display_name="second")
    make("c", experiment="other", tags={"team": None})
    make("d", (("loss", float("nan"), 1),), parent_run_id="a")
    arguments = ["--lr", "0.01", "--name=wide", "-n", "-3", "positional", "--fast", "--depth", "2"]
    make("e", (("loss", 0.3, 1),), spec={"script": "train.py", "arguments": arguments})
    call("POST", f"{workspace}/runs/b/complete")


@pytest.fixture
def find(call, workspace: str, made: None) -> Find:
    def found(query: str = "", *order_by: str, **more: object) -> list[str]:
        answer = call("POST", f"{workspace}/search", {"query": query, "order_by": order_by, **more})
        assert answer.status == 200, answer.body
        return [each["run"]["run_id"] for each in answer.json["runs"]]

    return found


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", "edcba"),
        ("metrics.loss < 0.4", "eb"),
        ("metrics.loss.min < 0.25", "ba"),
        ("metrics.loss.max = 0.5", "a"),
        ("metrics.loss.count >= 2", "a"),
        ("metrics.loss != 0.1", "ea"),
        ("not metrics.loss < 0.4", "dca"),
        ("metrics.loss is not null", "edba"),
        ("metrics.loss is null", "c"),
        ("metrics.loss < 0.4 and metrics.acc > 0.5", "b"),
        ("tags.team = 'vision'", "a"),
        ("tags.team ilike 'VIS%'", "ba"),
        ("tags.team like 'vis%'", "a"),
        ("tags.team contains 'isi'", "ba"),
        ("tags.team is not null", "cba"),
        ("tags.n = 5", "a"),
        ("tags.team in ('Vision', 'speech')", "b"),
        ("params.lr = 0.01", "e"),
        ("params.lr = '0.01'", "e"),
        ("params.lr < 0.1 and params.name = wide", "e"),
        ("params.n = -3 and params.fast = 'true' and params.depth > '1'", "e"),
        ("params.positional is null", "edcba"),
        ("status = Completed", "b"),
        ("status in (running, 'NotStarted') and experiment = 'first'", "eda"),
        ("experiment = 'other' or name = 'second'", "cb"),
        ("experiment != 'first'", "c"),
        ("experiment = 'nowhere'", ""),
        ("parent = 'a'", "d"),
        ("parent is null", "ecba"),
        ("run_id in ('a', 'e')", "ea"),
        ("created > '1h ago' and created_by = ada", "edcba"),
        ("created < '1h ago'", ""),
        ("created < 2100-01-01", None),
        ("created < '2100-01-01'", "edcba"),
        ("type = 'azureml.scriptrun'", "e"),
        ("duration < 3600 and number > 2", "d"),
        ("ended is not null", "b"),
    ],
)
def test_queries(find: Find, call, workspace: str, query: str, expected: str | None) -> None:
    if expected is None:
        assert call("POST", f"{workspace}/search", {"query": query}).status == 400
    else:
        assert "".join(find(query)) == expected


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize(
    ("query", "order", "expected"),
    [
        ("", "metrics.loss asc", "beadc"),
        ("", "metrics.loss desc", "aebdc"),
        ("", "metrics.loss.min asc", "baedc"),
        ("", "metrics.loss.max desc", "aebdc"),
        ("experiment = 'first'", "metrics.loss asc", "bead"),
        ("metrics.loss > 0.2", "metrics.loss desc", "ae"),
        ("", "metrics.loss.count desc", "aedbc"),
        ("", "created asc", "abcde"),
        ("", "created desc", "edcba"),
        ("", "params.lr asc", "edcba"),
        ("", "tags.team desc", "abedc"),
        ("", "name asc", "acdeb"),
        ("", "metrics.unknown asc", "edcba"),
    ],
)
def test_orders_and_pages_of_any_size(call, find: Find, workspace: str, query: str, order: str, expected: str) -> None:
    assert "".join(find(query, order)) == expected
    for limit in (1, 2, 3):
        seen, page = "", None
        while True:
            asked = {"query": query, "order_by": [order], "limit": limit, "page": page}
            answer = call("POST", f"{workspace}/search", asked).json
            seen += "".join(each["run"]["run_id"] for each in answer["runs"])
            page = answer["next"]
            if page is None:
                break
        assert seen == expected, limit


def test_two_orders(find: Find) -> None:
    assert "".join(find("", "status asc", "metrics.loss desc")) == "beadc"


def test_what_comes_along(call, workspace: str, made: None) -> None:
    asked = {"query": "metrics.loss < 0.2", "metrics": ["unknown"]}
    [found] = call("POST", f"{workspace}/search", asked).json["runs"]
    [loss] = found["metrics"]
    assert (loss["name"], loss["last"], loss["min"], loss["max"], loss["count"]) == ("loss", 0.1, 0.1, 0.1, 1)
    [found] = call("POST", f"{workspace}/search", {"query": "run_id = b", "metrics": None}).json["runs"]
    assert [metric["name"] for metric in found["metrics"]] == ["acc", "loss"]
    [found] = call("POST", f"{workspace}/search", {"query": "run_id = e"}).json["runs"]
    assert found["params"] == {"lr": "0.01", "name": "wide", "n": "-3", "fast": "true", "depth": "2"}
    assert found["metrics"] == []


def test_parameters_of_a_run_say_where_they_are_from(call, workspace: str, made: None) -> None:
    found = call("GET", f"{workspace}/runs/e/params").json
    assert found[0] == {"name": "depth", "value": "2", "source": "argument"}


def test_a_name_that_is_sql_is_a_name(find: Find) -> None:
    assert find('tags."x\' OR 1=1 --" = "y\'; DROP TABLE runs"') == []
    assert len(find()) == 5


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"query": "metrics.loss < 'much'"}, "is compared with a number"),
        ({"query": "tags.team < 3"}, "tags and properties are text"),
        ({"query": "tags.team = '\ud800'"}, "half a character"),
        ({"query": "datasets.name = 'mnist'"}, "in MLflow's searches alone"),
        ({"query": "status = Finished"}, "'Finished' is no status"),
        ({"query": "created > 'soon'"}, "a time is a date"),
        ({"order_by": ["metrics.loss upwards"]}, "an order is a field"),
        ({"page": "nonsense"}, "no page of a search"),
        ({"archived": "maybe"}, "archived is 'maybe'"),
        ({"experiments": ["nowhere"]}, "No experiment named 'nowhere'"),
        ({"limit": "many"}, "the limit is a whole number"),
        (["not", "a", "search"], "This is no search"),
    ],
)
def test_mistakes_are_told(call, workspace: str, asked: object, said: str) -> None:
    answer = call("POST", f"{workspace}/search", asked)
    assert answer.status in (400, 404)
    assert said in answer.json["error"]["message"]


def test_a_page_that_names_no_place_is_no_page(call, workspace: str) -> None:
    page = base64.urlsafe_b64encode(b'{"v": 1.0}').decode()
    answer = call("POST", f"{workspace}/search", {"page": page, "order_by": ["metrics.loss"]})
    assert answer.status == 400
    assert "no page of a search" in answer.json["error"]["message"]


def test_long_tags_are_kept_and_found(call, workspace: str) -> None:
    """Longer than what a database puts into an index, and without repetitions that it could shorten."""
    long = random.Random(1).randbytes(8000).hex()
    for run_id, tag in (("one", long), ("other", long + "!")):
        new = {"experiment": "mnist", "run_id": run_id, "tags": {"config": tag}}
        assert call("POST", f"{workspace}/runs", new).status == 200
    asked = {"query": f"tags.config = '{long}!'"}
    found = call("POST", f"{workspace}/search", asked).json["runs"]
    assert [each["run"]["run_id"] for each in found] == ["other"]
