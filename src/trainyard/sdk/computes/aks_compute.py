"""AksCompute: a name that services are deployed to. On this machine they run as all services do."""

from __future__ import annotations

import time
from typing import Any, ClassVar

from trainyard.contract.computes import NewCompute
from trainyard.sdk.computes.compute import ComputeTarget
from trainyard.sdk.effects import no_effect
from trainyard.sdk.errors import ComputeTargetException

_AGENTS, _VM_SIZE = 3, "STANDARD_D1_V2"  # nothing runs on these nodes, so the size says nothing


class AksProvisioningConfiguration:
    """The parameters as they were given; notebooks set some of them afterwards."""

    def __init__(self, **given: Any) -> None:
        self.__dict__.update(given)
        self.agent_count: int | None = given.get("agent_count")
        self.vm_size: str | None = given.get("vm_size")
        self.cluster_purpose: str | None = given.get("cluster_purpose")
        self.validate_configuration()

    def validate_configuration(self) -> None:
        """ComputeTargetException says what is wrong."""
        count = self.agent_count
        if count is not None and (isinstance(count, bool) or not isinstance(count, int) or count < 1):
            raise ComputeTargetException(f"agent_count is {count!r}; it must be a whole number of at least 1.")
        purposes = AksCompute.ClusterPurpose
        if self.cluster_purpose not in (None, purposes.FAST_PROD, purposes.DENSE_PROD, purposes.DEV_TEST):
            raise ComputeTargetException(
                f"cluster_purpose is {self.cluster_purpose!r}. Use one of AksCompute.ClusterPurpose."
            )

    def enable_ssl(
        self,
        ssl_cname: str | None = None,
        ssl_cert_pem_file: str | None = None,
        ssl_key_pem_file: str | None = None,
        leaf_domain_label: str | None = None,
        overwrite_existing_domain: bool = False,
    ) -> None:
        """Services here listen on this machine, without certificates."""
        no_effect(
            "AksProvisioningConfiguration.enable_ssl",
            ssl_cname=ssl_cname,
            ssl_cert_pem_file=ssl_cert_pem_file,
            ssl_key_pem_file=ssl_key_pem_file,
            leaf_domain_label=leaf_domain_label,
            overwrite_existing_domain=overwrite_existing_domain or None,
        )

    def _new_compute(self, name: str) -> NewCompute:
        given = {key: value for key, value in vars(self).items() if key not in ("agent_count", "vm_size")}
        no_effect("AksCompute.provisioning_configuration", **given)
        return NewCompute(
            name=name, kind="AKS", vm_size=self.vm_size or _VM_SIZE, max_nodes=self.agent_count or _AGENTS
        )


class AksCompute(ComputeTarget):
    _compute_type: ClassVar[str | None] = "AKS"

    class ClusterPurpose:
        FAST_PROD = "FastProd"
        DENSE_PROD = "DenseProd"
        DEV_TEST = "DevTest"

    agent_count: int
    agent_vm_size: str

    @staticmethod
    def provisioning_configuration(
        agent_count: int | None = None,
        vm_size: str | None = None,
        ssl_cname: str | None = None,
        ssl_cert_pem_file: str | None = None,
        ssl_key_pem_file: str | None = None,
        location: str | None = None,
        vnet_resourcegroup_name: str | None = None,
        vnet_name: str | None = None,
        subnet_name: str | None = None,
        service_cidr: str | None = None,
        dns_service_ip: str | None = None,
        docker_bridge_cidr: str | None = None,
        cluster_purpose: str | None = None,
        load_balancer_type: str | None = None,
        load_balancer_subnet: str | None = None,
    ) -> AksProvisioningConfiguration:
        return AksProvisioningConfiguration(**locals())

    @staticmethod
    def attach_configuration(
        resource_group: str | None = None,
        cluster_name: str | None = None,
        resource_id: str | None = None,
        cluster_purpose: str | None = None,
        load_balancer_type: str | None = None,
        load_balancer_subnet: str | None = None,
    ) -> Any:
        del resource_group, cluster_name, resource_id, cluster_purpose, load_balancer_type, load_balancer_subnet
        raise ComputeTargetException(
            "Trainyard serves on this machine and attaches no cluster from elsewhere. Make a target with "
            "ComputeTarget.create(workspace, name, AksCompute.provisioning_configuration())."
        )

    def wait_for_completion(self, show_output: bool = False, is_delete_operation: bool = False) -> None:
        if is_delete_operation:
            self._wait_until_gone(show_output)
            return
        if not self._creating:
            raise ComputeTargetException(
                f"wait_for_completion waits for what create() began, and {self.name} was there already. Its "
                "provisioning_state says how it is."
            )
        while self.get_status() not in ("Succeeded", "Failed"):
            time.sleep(0.2)
        if show_output:
            print(
                f'{self.provisioning_state}\nAKS provisioning operation finished, operation "{self.provisioning_state}"'
            )

    def get_credentials(self) -> dict[str, Any]:
        raise ComputeTargetException("There is no Kubernetes behind this target, so there are no credentials for one.")

    def update(self, update_configuration: Any) -> None:
        del update_configuration
        raise ComputeTargetException("An AksCompute of Trainyard has nothing to update: it is a name for this machine.")

    def _take(self, record: Any) -> None:
        super()._take(record)
        self.agent_count, self.agent_vm_size = record.max_nodes, record.vm_size
        self.cluster_purpose = AksCompute.ClusterPurpose.FAST_PROD
        self.cluster_fqdn = self.ssl_configuration = self.load_balancer_type = self.load_balancer_subnet = None
        self.system_services: list[Any] = []
