"""Registering environments, over the application's own routes."""

from __future__ import annotations

import pytest

from trainyard.client.environments import Environments
from trainyard.client.http import Http
from trainyard.client.workspaces import Workspaces
from trainyard.contract.environments import BuildState
from trainyard.contract.errors import EnvironmentRefused, InvalidName, NotFound, UnknownEnvironment


@pytest.fixture
def environments(http_client: Http) -> Environments:
    return Environments(http_client, Workspaces(http_client).create("yard").id)


def definition(name: str, *packages: str) -> dict:
    return {
        "name": name,
        "version": None,
        "python": {"condaDependencies": {"dependencies": ["python=3.11", {"pip": list(packages)}]}},
    }


def test_versions_count_up_when_something_changed(environments: Environments) -> None:
    first = environments.register(definition("mine", "six"))
    assert (first.name, first.version, first.created_by) == ("mine", "1", "ada")
    assert first.definition == {**definition("mine", "six"), "version": "1"}
    assert environments.register(definition("mine", "six")).version == "1"
    assert environments.register({**definition("mine", "six", "idna"), "version": "1"}).version == "2"
    assert environments.get("mine").version == "2"
    assert environments.get("mine", "1") == first
    assert [record.version for record in environments.versions("mine")] == ["2", "1"]


def test_credentials_do_not_come_back_and_the_same_ones_make_no_new_version(environments: Environments) -> None:
    private = definition("mine", "--index-url https://ada:hush-hush@host/simple", "six")
    first = environments.register(private)
    assert "hush-hush" not in str(first.definition)
    assert environments.register(private).version == "1"
    assert environments.register({**first.definition, "version": None}).version == "1"
    build = environments.build(private, relax_pins=False)
    assert build.state is BuildState.RUNNING


def test_the_list_has_the_latest_of_each(environments: Environments) -> None:
    assert environments.list() == []
    for name, package in (("b", "six"), ("a", "six"), ("b", "idna")):
        environments.register(definition(name, package))
    assert [(record.name, record.version) for record in environments.list()] == [("a", "1"), ("b", "2")]


def test_what_is_not_there(environments: Environments) -> None:
    environments.register(definition("mine", "six"))
    with pytest.raises(UnknownEnvironment, match=r"No environment named 'yours' \(environments there are: mine\)"):
        environments.get("yours")
    with pytest.raises(UnknownEnvironment, match=r"No version '7' of environment 'mine' \(versions there are: 1\)"):
        environments.get("mine", "7")
    with pytest.raises(NotFound, match="No build 'x'"):
        environments.build_status("x")


@pytest.mark.parametrize("name", ["AzureML-Mine", "azureml-mine", "", "a/b", "x" * 300])
def test_names_that_are_reserved_or_none(environments: Environments, name: str) -> None:
    with pytest.raises(InvalidName):
        environments.register(definition(name))


def test_what_cannot_be_built_is_not_registered(environments: Environments) -> None:
    with pytest.raises(EnvironmentRefused, match="is not a pip requirement"):
        environments.register(definition("mine", "six; rm -rf /"))
    with pytest.raises(EnvironmentRefused, match="unknown key"):
        environments.build({**definition("mine"), "pyton": {}})


def test_a_build_is_accepted_at_once(environments: Environments) -> None:
    asked = environments.build(definition("mine", "six"))
    assert (asked.name, asked.state, asked.fingerprint) == ("mine", BuildState.RUNNING, None)
    assert environments.build_status(asked.build_id) == asked
    assert environments.build_log(asked.build_id) == b""
