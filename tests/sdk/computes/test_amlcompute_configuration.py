import pytest

from trainyard.contract.computes import NewCompute, Priority
from trainyard.sdk.computes.amlcompute import AmlCompute
from trainyard.sdk.computes.batchai import BatchAiCompute
from trainyard.sdk.computes.compute import check_target_name
from trainyard.sdk.errors import ComputeTargetException, UserErrorException
from trainyard.sdk.workspace import Workspace


def test_numbers_may_come_as_text():
    made = AmlCompute.provisioning_configuration(
        "STANDARD_D2_V2", "LowPriority", min_nodes="1", max_nodes="4", idle_seconds_before_scaledown="300"
    )
    assert made._new_compute("c1") == NewCompute(
        "c1", vm_size="STANDARD_D2_V2", priority=Priority.LOW, min_nodes=1, max_nodes=4, idle_seconds=300
    )


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({}, "needs max_nodes"),
        ({"max_nodes": 1, "min_nodes": 2}, "not below min_nodes"),
        ({"max_nodes": 0}, "at least 1"),
        ({"max_nodes": "many"}, "whole number"),
        ({"max_nodes": 1, "vm_priority": "cheap"}, "'dedicated' or 'lowpriority'"),
        ({"max_nodes": 1, "vnet_name": "v"}, "give all or none"),
        ({"max_nodes": 1, "tags": ["x"]}, "must be a dict"),
    ],
)
def test_what_makes_no_sense_is_refused(given, says):
    with pytest.raises(ComputeTargetException, match=says):
        AmlCompute.provisioning_configuration(**given)


def test_what_means_nothing_here_says_so():
    with pytest.warns(UserWarning, match="admin_username has no effect"):
        AmlCompute.provisioning_configuration(max_nodes=1, admin_username="me")


def test_batch_ai_without_autoscale_has_its_nodes_always():
    made = BatchAiCompute.provisioning_configuration("STANDARD_D2_V2", cluster_min_nodes=2)._new_compute("c1")
    assert (made.kind, made.min_nodes, made.max_nodes) == ("BatchAI", 2, 2)
    made = BatchAiCompute.provisioning_configuration(autoscale_enabled=True, cluster_min_nodes=0, cluster_max_nodes=4)
    assert (made.min_nodes, made.max_nodes) == (0, 4)


@pytest.mark.parametrize("name", ["amlcompute", "local", "containerinstance"])
def test_reserved_names_are_refused(name):
    with pytest.raises(UserErrorException, match="reserved"):
        check_target_name(name)


def test_a_name_outside_the_rules_is_refused():
    with pytest.raises(ComputeTargetException, match="2 to 32"):
        check_target_name("../x")


def test_the_default_clusters():
    assert Workspace.DEFAULT_CPU_CLUSTER_NAME == "cpu-cluster"
    assert Workspace.DEFAULT_GPU_CLUSTER_CONFIGURATION.vm_size == "STANDARD_NC6"
