from __future__ import annotations

from dataclasses import replace

import pytest

from trainyard.agent.variables import Scene, expand, of_process
from trainyard.contract.attempts import AgentOrder, Orders, Peer
from trainyard.contract.runs import EnvironmentSpec, RunSpec
from trainyard.launchers.base import Process

ORDER = AgentOrder("att", 0, "tok", None, "/home/u/.trainyard", "/w")
ORDERS = Orders(
    go=True,
    run_id="exp_1_aa",
    workspace_id="wid",
    workspace_name="ws",
    subscription_id="s",
    resource_group="g",
    experiment="exp",
    experiment_id="eid",
    target_kind="AmlCompute",
    deadline_ns=5_000_000_000,
)
SCENE = Scene("http://127.0.0.1:1", "/w/wd", "/o/first", "/env/bin/python", "/w/node-0/job-0.json", shares_home=True)


def says(shims: str) -> EnvironmentSpec:
    return EnvironmentSpec(definition={"python": {"shims": shims}})


PROCESS = Process(0, 0, "worker", ("python",), "log")


def test_a_plain_job_has_exactly_these() -> None:
    scope = "/subscriptions/s/resourceGroups/g/providers/Microsoft.MachineLearningServices/workspaces/ws"
    assert of_process(ORDER, ORDERS, RunSpec(inherited={"PATH": "/bin"}), PROCESS, SCENE) == {
        "PATH": "/env/bin:/bin",
        "PYTHONPATH": "/o/first",
        "PYTHONUNBUFFERED": "1",
        "AZUREML_ARM_SUBSCRIPTION": "s",
        "AZUREML_ARM_RESOURCEGROUP": "g",
        "AZUREML_ARM_WORKSPACE_NAME": "ws",
        "AZUREML_ARM_PROJECT_NAME": "exp",
        "AZUREML_RUN_ID": "exp_1_aa",
        "AZUREML_RUN_TOKEN": "tok",
        "AZUREML_RUN_TOKEN_EXPIRY": "5",
        "AZUREML_SERVICE_ENDPOINT": "http://127.0.0.1:1",
        "AZUREML_DISCOVERY_SERVICE_ENDPOINT": "http://127.0.0.1:1",
        "AZUREML_RUN_HISTORY_SERVICE_ENDPOINT": "http://127.0.0.1:1",
        "AZUREML_EXPERIMENT_ID": "eid",
        "AZUREML_WORKSPACE_ID": "wid",
        "AZUREML_WORKSPACE_SCOPE": scope,
        "AZUREML_EXPERIMENT_SCOPE": scope + "/experiments/exp",
        "AZUREML_FRAMEWORK": "Python",
        "AZUREML_COMMUNICATOR": "None",
        "AZUREML_TARGET_TYPE": "AmlCompute",
        "AZUREML_OUTPUT_DIRECTORY": "/w/wd/outputs",
        "AZUREML_LOGDIRECTORY_PATH": "/w/wd/logs",
        "AZUREML_SCRIPT_DIRECTORY_NAME": "/w/wd",
        "AZUREML_IDENTITY_IN_USE": "UserIdentity",
        "MLFLOW_TRACKING_URI": "http://127.0.0.1:1/mlflow/v1.0/workspaces/wid",
        "MLFLOW_TRACKING_TOKEN": "tok",
        "MLFLOW_EXPERIMENT_ID": "eid",
        "MLFLOW_EXPERIMENT_NAME": "exp",
        "MLFLOW_RUN_ID": "exp_1_aa",
        "TRAINYARD_ATTEMPT": "att",
        "TRAINYARD_JOB": "/w/node-0/job-0.json",
        "TRAINYARD_HOME": "/home/u/.trainyard",
    }


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ({"HTTP_PROXY": "http://p:1"}, "localhost,127.0.0.1,10.0.0.2,two"),
        ({"https_proxy": "http://p:1", "NO_PROXY": ".corp, 127.0.0.1"}, ".corp, 127.0.0.1,localhost,10.0.0.2,two"),
        ({"http_proxy": "http://p:1", "no_proxy": "*"}, "*"),
        ({"http_proxy": ""}, None),
    ],
)
def test_the_service_and_the_other_nodes_are_not_behind_a_proxy(said: dict[str, str], found: str | None) -> None:
    orders = replace(ORDERS, peers=(Peer(0, "", "127.0.0.1"), Peer(1, "two", "10.0.0.2")))
    variables = of_process(ORDER, orders, RunSpec(inherited=said), PROCESS, SCENE)
    assert variables.get("no_proxy") == found
    if found != "*":
        assert variables.get("NO_PROXY") == found


def test_a_tracker_of_the_user_s_own_stays() -> None:
    spec = RunSpec(variables={"MLFLOW_TRACKING_URI": "http://elsewhere"})
    found = of_process(ORDER, ORDERS, spec, PROCESS, SCENE)
    assert {name: value for name, value in found.items() if name.startswith("MLFLOW")} == {
        "MLFLOW_TRACKING_URI": "http://elsewhere"
    }


def test_later_ones_win() -> None:
    spec = RunSpec(
        inherited={"A": "inherited", "B": "inherited", "C": "inherited", "PATH": "/env/bin:/bin"},
        environment=EnvironmentSpec(variables={"B": "environment", "C": "environment"}),
        variables={"C": "run", "PYTHONPATH": "/mine", "AZUREML_RUN_ID": "forged"},
    )
    defaults = {"A": "default", "D": "default"}
    process = replace(PROCESS, variables={"RANK": "0"}, defaults=defaults)
    found = of_process(ORDER, replace(ORDERS, gpus=("1", "3")), spec, process, replace(SCENE, shares_home=False))
    assert (found["A"], found["B"], found["C"], found["RANK"]) == ("inherited", "environment", "run", "0")
    assert found["D"] == "default"
    assert found["PYTHONPATH"] == "/o/first:/mine"
    assert found["PATH"] == "/env/bin:/bin"
    assert found["AZUREML_RUN_ID"] == "exp_1_aa"
    assert found["CUDA_VISIBLE_DEVICES"] == "1,3"
    assert "TRAINYARD_HOME" not in found


@pytest.mark.parametrize(
    ("spec", "built", "shims"),
    [
        (RunSpec(), {}, None),
        (RunSpec(relax_pins=True), {}, "auto"),
        (RunSpec(), {"TRAINYARD_SHIMS": "auto"}, "auto"),  # a framework of another version was installed
        (RunSpec(inherited={"TRAINYARD_URL_MAP": "{}"}), {}, "addresses"),
        (RunSpec(relax_pins=True, environment=says("off")), {"TRAINYARD_SHIMS": "auto"}, None),
        (RunSpec(environment=says("numpy,torch")), {}, "numpy,torch"),
    ],
)
def test_helpers_for_old_scripts_are_first_on_the_path(spec: RunSpec, built: dict[str, str], shims: str | None) -> None:
    found = of_process(ORDER, ORDERS, spec, PROCESS, replace(SCENE, variables=built))
    assert found.get("TRAINYARD_SHIMS") == shims
    assert found["PYTHONPATH"] == ("/o/first/trainyard/shims/startup:/o/first" if shims else "/o/first")


def test_only_variables_that_exist_are_expanded() -> None:
    arguments = ["$A/x", "${A}b", "$AB", "$$A", "5$", "${}", "a b"]
    assert expand(arguments, {"A": "1"}) == ["1/x", "1b", "$AB", "$1", "5$", "${}", "a b"]
