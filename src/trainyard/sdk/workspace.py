"""Workspace: where experiments, compute targets and all that belongs to them live."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from trainyard.contract.attempts import JobContext
from trainyard.contract.names import check_name
from trainyard.contract.runs import WorkspaceRecord
from trainyard.sdk import config_file
from trainyard.sdk.connection import Connection, WorkspaceClients, connect
from trainyard.sdk.effects import no_effect, tell_once
from trainyard.sdk.errors import AzureMLException, UserErrorException, WorkspaceException, code_of, sdk_errors
from trainyard.sdk.keyvault import WorkspaceCloud
from trainyard.sdk.other_sdk import warn_of_other_sdk
from trainyard.sdk.times import iso
from trainyard.sdk.workspace_data import WorkspaceData
from trainyard.sdk.workspace_finding import UNKNOWN, found_or_made, named
from trainyard.sdk.workspace_runs import WorkspaceRuns

if TYPE_CHECKING:
    from trainyard.sdk.computes.amlcompute import AmlComputeProvisioningConfiguration
    from trainyard.sdk.computes.compute import ComputeTarget
    from trainyard.sdk.inventory import ByName


class _DefaultCluster:
    """A cluster's configuration, made when it is asked for: few programs do."""

    def __init__(self, vm_size: str) -> None:
        self._vm_size = vm_size

    def __get__(self, instance: object, owner: object) -> AmlComputeProvisioningConfiguration:
        from trainyard.sdk.computes.amlcompute import AmlCompute

        return AmlCompute.provisioning_configuration(vm_size=self._vm_size, min_nodes=0, max_nodes=2)


class Workspace(WorkspaceRuns, WorkspaceData, WorkspaceCloud):
    DEFAULT_CPU_CLUSTER_NAME = "cpu-cluster"
    DEFAULT_GPU_CLUSTER_NAME = "gpu-cluster"
    DEFAULT_CPU_CLUSTER_CONFIGURATION = _DefaultCluster("STANDARD_DS2_V2")
    DEFAULT_GPU_CLUSTER_CONFIGURATION = _DefaultCluster("STANDARD_NC6")

    def __init__(
        self,
        subscription_id: str,
        resource_group: str,
        workspace_name: str,
        auth: Any = None,
        sku: str = "basic",
        tags: dict[str, str] | None = None,
        *,
        _connection: Connection | None = None,
        _record: WorkspaceRecord | None = None,
        _job: JobContext | None = None,
        **kwargs: Any,
    ) -> None:
        no_effect("Workspace", auth=auth, tags=tags, sku=None if sku == "basic" else sku, **_public(kwargs))
        if _job is None:
            warn_of_other_sdk()
        self._connection = _connection or connect()
        self._subscription_id = subscription_id
        self._resource_group = resource_group
        self._name = workspace_name
        self._record = _record
        self._in_job = _job is not None
        if _job is None and _record is None:
            self._record = named(self._connection, workspace_name, subscription_id, resource_group)
        known = self._record
        self._workspace_id_internal: str = known.id if known is not None else _job.workspace_id if _job else ""
        if known is not None:
            self._subscription_id, self._resource_group = known.subscription_id, known.resource_group
        self._workspace_id = self._workspace_id_internal  # both are read by scripts of the time
        self._clients: WorkspaceClients = self._connection.of_workspace(self._workspace_id_internal)

    # Finding and making them

    @staticmethod
    def from_config(
        path: str | None = None, auth: Any = None, _file_name: str | None = None, **kwargs: Any
    ) -> Workspace:
        """The workspace that config.json, or `_file_name`, names. On the embedded default it is made if nobody has
        yet."""
        no_effect("Workspace.from_config", auth=auth, **_public(kwargs))
        said = config_file.read_config(config_file.find_config(path, _file_name))
        connection = connect(said.endpoint)
        try:
            record = found_or_made(connection, said.workspace_name, said.subscription_id, said.resource_group)
        except AzureMLException as error:
            if code_of(error) == UNKNOWN:
                raise WorkspaceException(config_file.not_there(said, connection.http.url), error) from error
            raise config_file.about(said, error) if said.endpoint else error from error
        return Workspace._of(connection, record)

    @staticmethod
    def create(
        name: str,
        auth: Any = None,
        subscription_id: str | None = None,
        resource_group: str | None = None,
        location: str | None = None,
        create_resource_group: bool = True,
        sku: str = "basic",
        tags: dict[str, str] | None = None,
        friendly_name: str | None = None,
        storage_account: str | None = None,
        key_vault: str | None = None,
        app_insights: str | None = None,
        container_registry: str | None = None,
        adb_workspace: str | None = None,
        cmk_keyvault: str | None = None,
        resource_cmk_uri: str | None = None,
        hbi_workspace: bool = False,
        default_cpu_compute_target: Any = None,
        default_gpu_compute_target: Any = None,
        private_endpoint_config: Any = None,
        private_endpoint_auto_approval: bool = True,
        exist_ok: bool = False,
        show_output: bool = True,
        **kwargs: Any,
    ) -> Workspace:
        """Makes a workspace; with `exist_ok` one that is there is returned as it is."""
        del create_resource_group, private_endpoint_auto_approval  # there is nothing they could be about
        no_effect(
            "Workspace.create",
            auth=auth,
            sku=None if sku == "basic" else sku,
            storage_account=storage_account,
            key_vault=key_vault,
            app_insights=app_insights,
            container_registry=container_registry,
            adb_workspace=adb_workspace,
            cmk_keyvault=cmk_keyvault,
            resource_cmk_uri=resource_cmk_uri,
            hbi_workspace=hbi_workspace or None,
            private_endpoint_config=private_endpoint_config,
            **_public(kwargs),
        )
        where = (subscription_id or "", resource_group or "", location or "")
        made = _make(name, where, friendly_name, tags, exist_ok=exist_ok)
        if show_output:
            print(f"Workspace {name} is ready at {made._connection.http.url}.")
        _make_clusters(made, default_cpu_compute_target, default_gpu_compute_target)
        return made

    @staticmethod
    def get(
        name: str,
        auth: Any = None,
        subscription_id: str | None = None,
        resource_group: str | None = None,
        location: str | None = None,
        **kwargs: Any,
    ) -> Workspace:
        no_effect("Workspace.get", auth=auth, location=location, **_public(kwargs))
        connection = connect()
        return Workspace._of(connection, named(connection, name, subscription_id, resource_group))

    @staticmethod
    def setup() -> Workspace:
        """Asks for nothing: the workspace of config.json, or of the name 'workspace'."""
        try:
            return Workspace.from_config()
        except UserErrorException:
            return Workspace.create("workspace", exist_ok=True)

    # What it is

    @property
    def name(self) -> str:
        return self._name

    @property
    def subscription_id(self) -> str:
        return self._subscription_id

    @property
    def resource_group(self) -> str:
        return self._resource_group

    @property
    def location(self) -> str:
        return self._known().location

    @property
    def sku(self) -> str:
        return "Basic"

    @property
    def tags(self) -> dict[str, str]:
        return dict(self._known().tags)

    @property
    def discovery_url(self) -> str:
        return f"{self._connection.http.url}/discovery"

    def get_details(self) -> dict[str, Any]:
        """The SDK's camelCase dict."""
        record = self._fresh()
        scope = f"/subscriptions/{record.subscription_id}/resourceGroups/{record.resource_group}"
        return {
            "id": f"{scope}/providers/Microsoft.MachineLearningServices/workspaces/{record.name}",
            "name": record.name,
            "location": record.location,
            "type": "Microsoft.MachineLearningServices/workspaces",
            "tags": dict(record.tags),
            "sku": self.sku,
            "workspaceid": record.id,
            "description": record.description or "",
            "friendlyName": record.friendly_name or record.name,
            "creationTime": iso(record.created_ns),
            "createdBy": record.created_by,
            "provisioningState": "Succeeded",
            "discoveryUrl": self.discovery_url,
        }

    def write_config(self, path: str | None = None, file_name: str | None = None) -> None:
        """Writes config.json for from_config: below `path`, in .azureml (or aml_config where that is)."""
        http = self._connection.http
        endpoint = None if http.home is not None else http.url
        said = config_file.ConfigFile("", self._subscription_id, self._resource_group, self._name, endpoint)
        config_file.write_config(said, path, file_name)

    def update(
        self,
        friendly_name: str | None = None,
        description: str | None = None,
        tags: dict[str, str] | None = None,
        image_build_compute: str | None = None,
        service_managed_resources_settings: Any = None,
        **kwargs: Any,
    ) -> dict[str, Any]:
        no_effect(
            "Workspace.update",
            image_build_compute=image_build_compute,
            service_managed_resources_settings=service_managed_resources_settings,
            **_public(kwargs),
        )
        given = {"friendly_name": friendly_name, "description": description, "tags": tags}
        change = {key: value for key, value in given.items() if value is not None}
        self._record = self._connection.workspaces.update(self._workspace_id_internal, change)
        return self.get_details()

    def delete(self, delete_dependent_resources: bool = False, no_wait: bool = False) -> None:
        del delete_dependent_resources, no_wait  # all of it goes, at once
        self._connection.workspaces.delete(self._workspace_id_internal)

    # What is in it. Nothing of a kind that this version cannot make exists.

    @property
    def experiments(self) -> ByName:
        from trainyard.sdk.experiment import Experiment
        from trainyard.sdk.inventory import ByName

        return ByName((experiment.name, experiment) for experiment in Experiment.list(self))

    @property
    def compute_targets(self) -> ByName:
        """Name → target. 2018's form calls it: `for target in ws.compute_targets()`."""
        from trainyard.sdk.computes.compute import ComputeTarget
        from trainyard.sdk.inventory import ByName

        return ByName((target.name, target) for target in ComputeTarget.list(self))

    @property
    def environments(self) -> dict[str, Any]:
        from trainyard.sdk.environments.environment import Environment

        return Environment.list(self)

    @property
    def models(self) -> Any:
        """Name → the newest version. 2018's form calls it with filters: ws.models(tags=['area'])."""
        from trainyard.sdk.inventory import models_of

        return models_of(self)

    @property
    def images(self) -> Any:
        from trainyard.sdk.inventory import images_of

        return images_of(self)

    @property
    def webservices(self) -> Any:
        from trainyard.sdk.inventory import webservices_of

        return webservices_of(self)

    @property
    def linked_services(self) -> dict[str, Any]:
        return {}

    private_endpoints = linked_services

    def get_default_compute_target(self, type: str) -> ComputeTarget | None:
        """The cluster that create(default_cpu_compute_target=...) made, if it is there."""
        names = {"CPU": self.DEFAULT_CPU_CLUSTER_NAME, "GPU": self.DEFAULT_GPU_CLUSTER_NAME}
        if str(type).upper() not in names:
            raise ValueError("type must be 'CPU' or 'GPU'")
        return self.compute_targets.get(names[type.upper()])

    def __repr__(self) -> str:
        return (
            f"Workspace.create(name={self._name!r}, subscription_id={self._subscription_id!r}, "
            f"resource_group={self._resource_group!r})"
        )

    def _repr_html_(self) -> str:
        from trainyard.sdk import html

        cells: dict[str, str | tuple[str, str]] = {
            "Name": self._name,
            "Subscription": self._subscription_id,
            "Resource group": self._resource_group,
        }
        return html.table(cells)

    @staticmethod
    def _of(connection: Connection, record: WorkspaceRecord) -> Workspace:
        return Workspace(
            record.subscription_id, record.resource_group, record.name, _connection=connection, _record=record
        )

    @staticmethod
    def _of_job(job: JobContext) -> Workspace:
        """A job's own workspace: what it knows of it needs no service."""
        return Workspace(job.subscription_id, job.resource_group, job.workspace_name, _job=job)

    def _known(self) -> WorkspaceRecord:
        return self._record or self._fresh()

    def _fresh(self) -> WorkspaceRecord:
        self._record = self._connection.workspaces.get(self._workspace_id_internal)
        return self._record

    # last: below it `list` would mean this method

    @staticmethod
    def list(
        subscription_id: str | None = None, auth: Any = None, resource_group: str | None = None
    ) -> dict[str, list[Workspace]]:
        """Name → the workspaces of that name; of one subscription and group where they are given."""
        no_effect("Workspace.list", auth=auth)
        connection = connect()
        found: dict[str, Any] = {}
        for record in connection.workspaces.list():
            if subscription_id in (None, "", record.subscription_id) and resource_group in (
                None,
                record.resource_group,
            ):
                found.setdefault(record.name, []).append(Workspace._of(connection, record))
        return found


def _make(
    name: str, where: tuple[str, str, str], friendly_name: str | None, tags: dict[str, str] | None, *, exist_ok: bool
) -> Workspace:
    with sdk_errors():
        check_name("a workspace", name)
    connection = connect()
    labels = {str(key): str(value) for key, value in (tags or {}).items()}
    try:
        record = connection.workspaces.create(name, *where, friendly_name=friendly_name, tags=labels, exist_ok=exist_ok)
    except AzureMLException as error:
        if code_of(error) == "conflict.exists":
            raise WorkspaceException(error.message, error.inner_exception) from error
        raise
    return Workspace._of(connection, record)


def _make_clusters(workspace: Workspace, cpu: Any, gpu: Any) -> None:
    from trainyard.sdk.computes.compute import ComputeTarget

    wanted = {Workspace.DEFAULT_CPU_CLUSTER_NAME: cpu, Workspace.DEFAULT_GPU_CLUSTER_NAME: gpu}
    for name, configuration in wanted.items():
        if configuration is not None:
            ComputeTarget.create(workspace, name, configuration)


def _public(kwargs: dict[str, Any]) -> dict[str, Any]:
    for name in kwargs:
        if name.startswith("_"):
            tell_once(f"Workspace: the private parameter {name} has no effect with Trainyard.")
    return {name: value for name, value in kwargs.items() if not name.startswith("_")}
