"""Deploying over the application's own routes: what is accepted and refused, before any process is started."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from trainyard.blobs.bundle import bundle_path
from trainyard.client.http import Http
from trainyard.client.models import Models
from trainyard.client.services import Services
from trainyard.client.workspaces import Workspaces
from trainyard.contract.endpoints import (
    CodeSpec,
    ModelRef,
    NewKey,
    NewService,
    OperationState,
    Scaling,
    ServiceChange,
    ServiceKind,
    ServiceQuery,
    Share,
    VersionSpec,
)
from trainyard.contract.errors import (
    InvalidName,
    ModelRefused,
    NotAllowed,
    PickleRefused,
    ServiceRefused,
    UnknownCompute,
    UnknownModel,
    UnknownWebservice,
    WebserviceExists,
)
from trainyard.contract.models import ModelSource, NewModel
from trainyard.contract.runs import EnvironmentSpec
from trainyard.contract.serving import Auth, ServiceState
from trainyard.server.context import Context


@pytest.fixture
def workspace_id(http_client: Http) -> str:
    return Workspaces(http_client).create("yard").id


@pytest.fixture
def services(http_client: Http, workspace_id: str) -> Services:
    return Services(http_client, workspace_id)


@pytest.fixture
def spec(http_client: Http, workspace_id: str, context: Context, tmp_path: Path) -> VersionSpec:
    """A model and a script, both in the store."""
    (tmp_path / "model.pkl").write_bytes(b"weights")
    (tmp_path / "score.py").write_text("def init(): pass\ndef run(data): return data\n")
    content = bundle_path(context.blobs, str(tmp_path / "model.pkl"))
    Models(http_client, workspace_id).register(NewModel("m", ModelSource(content), "r", framework="ScikitLearn"))
    code = bundle_path(context.blobs, str(tmp_path / "score.py"))
    return VersionSpec((ModelRef("m", 1),), CodeSpec(code, "score.py", EnvironmentSpec(user_managed=True)))


def new(spec: VersionSpec, name: str = "svc", **more: object) -> NewService:
    return NewService(name, ServiceKind.ACI, spec, request_id=f"r-{name}", **more)  # type: ignore[arg-type]


def test_a_deployment_is_accepted_at_once(services: Services, spec: VersionSpec) -> None:
    made = services.create(new(spec, tags={"a": "b"}))
    assert (made.name, made.state, made.operation) == ("svc", ServiceState.TRANSITIONING, OperationState.RUNNING)
    assert [it.name for it in services.find(ServiceQuery(model_id="m:1", tags=(("a",),)))] == ["svc"]
    assert services.find(ServiceQuery(model_id="m:2")) == []
    assert services.create(new(spec, tags={"a": "b"})).id == made.id  # sent twice, made once


@pytest.mark.parametrize(
    ("wrong", "error", "says"),
    [
        ({"name": "No"}, InvalidName, "3 to 32 lower-case letters"),
        ({"primary_key": "short"}, ServiceRefused, "primary_key is not one that can be used"),
        ({"target": "nowhere"}, UnknownCompute, "ComputeTargetNotFound"),
        ({"port": 70_000}, ServiceRefused, "is no port"),
        ({"share": Share(traffic=101)}, ServiceRefused, "from 0 to 100"),
    ],
)
def test_what_makes_no_sense(
    services: Services, spec: VersionSpec, wrong: dict, error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        services.create(new(spec, wrong.pop("name", "svc"), **wrong))
    assert services.find(ServiceQuery()) == []


@pytest.mark.parametrize(
    ("change", "error", "says"),
    [
        ({"models": (ModelRef("m", 2),)}, UnknownModel, "ModelNotFound"),
        ({"models": (ModelRef("m", 1), ModelRef("m", 1))}, ServiceRefused, "is there twice"),
        ({"models": ()}, ServiceRefused, "exactly one model, not 0"),
        ({"scaling": Scaling(cpu_cores=-1)}, ServiceRefused, "cpu_cores is -1"),
        ({"scaling": Scaling(min_replicas=3, max_replicas=2)}, ServiceRefused, "not below the minimum"),
    ],
)
def test_versions_that_could_never_be_served(
    services: Services, spec: VersionSpec, change: dict, error: type[Exception], says: str
) -> None:
    if change.get("models") == ():
        change["code"] = None
    with pytest.raises(error, match=says):
        services.create(new(replace(spec, **change)))


def test_an_entry_script_that_did_not_come_along(services: Services, spec: VersionSpec) -> None:
    assert spec.code is not None
    with pytest.raises(ServiceRefused, match=r"The entry script other\.py is not among the files"):
        services.create(new(replace(spec, code=replace(spec.code, entry_script="other.py"))))


def test_a_pickle_without_code_needs_the_owner_s_word(
    services: Services, spec: VersionSpec, context: Context, workspace_id: str, call: object
) -> None:
    assert services.recognise(replace(spec, code=None)).model_path == "model.pkl"
    object.__setattr__(context.settings, "allow_pickle", False)
    with pytest.raises(PickleRefused, match="has not allowed those"):
        services.create(new(replace(spec, code=None)))
    services.create(new(spec))  # a scoring script is its owner's own code


def test_what_is_registered_for_jobs_is_not_served_without_a_framework(
    services: Services, spec: VersionSpec, http_client: Http, workspace_id: str
) -> None:
    models = Models(http_client, workspace_id)
    models.register(NewModel("plain", ModelSource(models.get("m").content), "p"))
    with pytest.raises(ModelRefused, match="no model_framework"):
        services.create(new(replace(spec, models=(ModelRef("plain", 1),), code=None)))


def test_two_of_one_name(services: Services, spec: VersionSpec) -> None:
    first = services.create(new(spec))
    with pytest.raises(WebserviceExists, match="deploy with overwrite=True"):
        services.create(replace(new(spec), request_id="other"))
    again = services.create(replace(new(spec), request_id="another", overwrite=True, description="new"))
    assert (again.id, again.description) == (first.id, "new")  # the same service, with its keys and address
    assert [it.revision for it in again.versions] == [2]


def test_keys_are_made_kept_and_made_anew(services: Services, spec: VersionSpec, context: Context) -> None:
    services.create(new(spec, auth=Auth.KEY))
    keys = services.keys("svc")
    assert len(keys.primary) >= 32
    assert services.keys("svc") == keys
    made = services.set_key("svc", NewKey("Secondary", "my-own-key-of-24-letters"))
    assert (made.primary, made.secondary) == (keys.primary, "my-own-key-of-24-letters")
    with pytest.raises(ServiceRefused, match="Tokens are not enabled"):
        services.token("svc")


def test_a_deleted_name_is_free_at_once(services: Services, spec: VersionSpec) -> None:
    first = services.create(new(spec))
    assert services._http.json("DELETE", f"{services._path}/svc", query={"timeout_s": 0}) == {"gone": False}
    with pytest.raises(UnknownWebservice):
        services.get("svc")
    assert services.create(replace(new(spec), request_id="second")).id != first.id


def test_versions_are_the_endpoints_alone(services: Services, spec: VersionSpec) -> None:
    services.create(new(spec))
    with pytest.raises(ServiceRefused, match="is no AksEndpoint"):
        services.change("svc", ServiceChange(version_name="b", share=Share(traffic=10)))


def test_a_job_s_token_may_look_and_not_deploy(
    services: Services, spec: VersionSpec, context: Context, http_client: Http, workspace_id: str
) -> None:
    services.create(new(spec))
    with context.db.write() as tx:
        context.authenticator.grant_attempt(tx, "attempt-1", "run-1", 1, workspace_id, "ada", 1)
    token = context.authenticator.attempt_token("attempt-1")
    job = Services(Http(http_client.url, token, None), workspace_id)
    assert job.get("svc").name == "svc"
    for forbidden in (
        lambda: job.create(new(spec, "other")),
        lambda: job.delete("svc"),
        lambda: job.keys("svc"),
        lambda: job.change("svc", ServiceChange(description="mine")),
    ):
        with pytest.raises(NotAllowed, match="running job's token"):
            forbidden()
    job._http.close()


def test_a_workspace_takes_its_models_and_services_along(
    services: Services, spec: VersionSpec, http_client: Http, workspace_id: str
) -> None:
    services.create(new(spec))
    Workspaces(http_client).delete(workspace_id)
    assert services.find(ServiceQuery()) == []
    with pytest.raises(UnknownModel):
        Models(http_client, workspace_id).get("m")
