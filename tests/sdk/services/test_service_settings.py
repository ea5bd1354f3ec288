"""What deployment configurations ask for reaches the front; certificates, from the deployment to the renewal."""

from __future__ import annotations

import json
import ssl
import urllib.request
import warnings
from pathlib import Path

import pytest
from self_signed import self_signed

from trainyard.contract.codec import from_json
from trainyard.contract.serving import ServicePlan
from trainyard.sdk.environments.environment import Environment
from trainyard.sdk.errors import WebserviceException
from trainyard.sdk.models.model import Model
from trainyard.sdk.services.aci_webservice import AciWebservice
from trainyard.sdk.services.aks_webservice import AksWebservice
from trainyard.sdk.services.inference_config import InferenceConfig
from trainyard.sdk.services.service_counts import requests_by_status
from trainyard.sdk.services.webservice import Webservice
from trainyard.sdk.workspace import Workspace


@pytest.fixture(scope="module")
def workspace(home):
    return Workspace.create("yard", exist_ok=True, show_output=False)


@pytest.fixture
def deploy(workspace, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made = []

    def deployed(name, configuration, **more):
        Path("score.py").write_text("def init(): pass\ndef run(data): return data\n")
        own = Environment("own")
        own.python.user_managed_dependencies = True
        service = Model.deploy(workspace, name, [], InferenceConfig("score.py", environment=own), configuration, **more)
        made.append(service)
        service.wait_for_deployment()
        return service

    yield deployed
    for name in {service.name for service in made}:
        Webservice(workspace, name).delete()


def plan_of(home, service):
    path = Path(home.path) / "services" / service._record.id / "plan.json"
    return from_json(ServicePlan, json.loads(path.read_text()))


def written(name, *names, **more):
    chain, key = self_signed(*names, **more)
    Path(f"{name}.pem").write_text(chain)
    Path(f"{name}.key").write_text(key)
    return {"ssl_enabled": True, "ssl_cert_pem_file": f"{name}.pem", "ssl_key_pem_file": f"{name}.key"}


def asked(service, chain):
    """As any client that trusts the certificate; the name leads to this machine."""
    port = service._record.url.rpartition(":")[2]
    context = ssl.create_default_context(cadata=chain)
    request = urllib.request.Request(f"https://localhost:{port}/score", b"x", {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, context=context) as answer:
        return json.loads(answer.read())


def test_https_from_the_deployment_to_a_new_certificate(workspace, home, deploy):
    first = written("first", "digits.test", "localhost")
    service = deploy("secure", AciWebservice.deploy_configuration(ssl_cname="digits.test", **first))
    port = service._record.url.rpartition(":")[2]
    assert service.scoring_uri == f"https://digits.test:{port}/score"
    assert (service.ssl_enabled, service.cname, service.ssl_key) == (True, "digits.test", None)
    assert service.ssl_certificate == Path("first.pem").read_text()
    assert service.run("7") == "7"  # the name leads nowhere: it is asked where it listens, and still checked
    assert asked(service, Path("first.pem").read_text()) == "x"
    assert requests_by_status(service) == {"200": 2}
    folder = Path(home.path) / "services" / service._record.id
    assert (
        Path("first.key").read_text() not in (folder / "plan.json").read_text() + (folder / "service.log").read_text()
    )
    second = written("second", "digits.test", "localhost")
    service.update(**{name: second[name] for name in ("ssl_cert_pem_file", "ssl_key_pem_file")})
    service.wait_for_deployment()
    assert asked(service, Path("second.pem").read_text()) == "x"
    assert Webservice(workspace, "secure").run("8") == "8"
    with pytest.raises(WebserviceException, match=r"answers https.*overwrite=True"):
        service.update(ssl_enabled=False)
    plain = deploy("secure", AciWebservice.deploy_configuration(), overwrite=True)
    assert plain.scoring_uri.startswith("http://127.0.0.1:")
    assert plain.run("9") == "9"
    with pytest.raises(WebserviceException, match=r"was deployed to answer plain http.*ssl_enabled=True"):
        plain.update(ssl_cname="digits.test", **second)


def test_certificates_that_make_no_sense(workspace, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    given = written("one", "digits.test")
    with pytest.raises(WebserviceException, match="ssl_cname is missing"):
        AciWebservice.deploy_configuration(**given)
    with pytest.raises(WebserviceException, match=r"'nowhere\.pem' cannot be read: No such file"):
        AciWebservice.deploy_configuration(ssl_cname="digits.test", **{**given, "ssl_cert_pem_file": "nowhere.pem"})
    with pytest.warns(UserWarning, match="without ssl_enabled=True the certificate is not used"):
        AciWebservice.deploy_configuration(ssl_cname="digits.test")
    Path("score.py").write_text("def init(): pass\ndef run(data): return data\n")
    own = Environment("own")
    own.python.user_managed_dependencies = True
    other = AciWebservice.deploy_configuration(ssl_cname="other.test", **given)
    with pytest.raises(WebserviceException, match=r"The certificate is for digits\.test, not for 'other\.test'"):
        Model.deploy(workspace, "refused", [], InferenceConfig("score.py", environment=own), other)
    assert Webservice.list(workspace) == []


def test_what_a_cluster_was_told(home, deploy):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        told = AksWebservice.deploy_configuration(
            autoscale_enabled=True,
            autoscale_max_replicas=2,
            autoscale_refresh_seconds=10,
            autoscale_target_utilization=35,
            initial_delay_seconds=600,
            period_seconds=20,
            failure_threshold=2,
            auth_enabled=False,
        )
    service = deploy("told", told)
    plan = plan_of(home, service)
    (scorer,) = plan.scorers
    assert (scorer.target, scorer.refresh_s, plan.init_timeout_s) == (0.35, 10, 640.0)
    assert (service.autoscaler.target_utilization, service.liveness_probe_requirements.initial_delay_seconds) == (
        35,
        600,
    )
    service.update(autoscale_target_utilization=90)
    service.wait_for_deployment()
    assert plan_of(home, service).scorers[0].target == 0.9
    with pytest.raises(WebserviceException, match="200 per cent; give a number from 1 to 100"):
        service.update(autoscale_target_utilization=200)
    with pytest.raises(WebserviceException, match=r"initial_delay_seconds is -1; it must be a number of at least 0"):
        AksWebservice.deploy_configuration(initial_delay_seconds=-1)
    with pytest.warns(UserWarning, match="success_threshold has no effect"):
        AksWebservice.deploy_configuration(success_threshold=1)
