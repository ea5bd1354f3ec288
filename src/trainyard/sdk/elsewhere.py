"""Names of the SDK that are not here, each with what to use instead. One table: the imports that fail say it, and
`trainyard check` does."""

from __future__ import annotations

from importlib.machinery import PathFinder, SourceFileLoader
from types import ModuleType
from typing import Any

_PIPELINE = (
    "pipelines are not part of Trainyard. Submit the steps one after the other with ScriptRunConfig and "
    "run.wait_for_completion(), hand files on with run.download_files() or a datastore, and group them as children of "
    "one run with run.submit_child()"
)
_AUTOML = (
    "automated machine learning is not part of Trainyard. Train candidates yourself and let HyperDriveConfig choose, "
    "or call a library such as FLAML or auto-sklearn from your script"
)
_EXPLAIN = (
    "explanations are not part of Trainyard. Call interpret-community or shap from your script, and keep the result "
    "with run.upload_file() or run.log_image()"
)
_LEARNING = "reinforcement learning is not part of Trainyard. Start Ray's RLlib in a script of your own"
_CLOUD_COMPUTE = (
    "is a service of Azure's. Use AmlCompute for nodes here, or RemoteCompute.attach_configuration for a machine"
)
_LINK = (
    "a dataset is not linked when a run ends. Write it with OutputFileDatasetConfig(...).register_on_complete(...), or "
    "call dataset.register(...) in the script"
)
_SPARK = "Spark is not part of Trainyard. Start it in a script of your own, or read the data with Dataset or pandas"
_LINKED = "linked services are Azure's. Register the data with Datastore instead"
_LIBRARIES = "libraries of Databricks clusters are Azure's. Name the packages in an Environment"
_AKS = "an AksCompute of Trainyard is a name for this machine, with nothing to update. Leave the update out"
_R = "R's packages are installed by conda. Name them in conda_dependencies: r-base and r-…, of conda-forge"
_INNER = "an inner part of the SDK, which spoke to Azure's services. Use the public names of azureml.core"
_OPEN_DATA = (
    "of Azure's open data sets only MNIST and Diabetes are here. Read a copy of the others with "
    "Dataset.Tabular.from_parquet_files"
)

# Longest name first counts. A module stands for all below it.
ELSEWHERE = {
    "azureml.accel": "models on Azure's FPGAs are not part of Trainyard. Serve the model with Model.deploy",
    "azureml.automl": _AUTOML,
    "azureml.contrib.automl": _AUTOML,
    "azureml.contrib.brainwave": "models on Azure's FPGAs are not part of Trainyard. Serve the model with Model.deploy",
    "azureml.contrib.dataset": "labelled data sets are not part of Trainyard. Read their files with Dataset.File",
    "azureml.contrib.explain": _EXPLAIN,
    "azureml.contrib.fairness": "fairness dashboards are not part of Trainyard. Call fairlearn from your script",
    "azureml.contrib.interpret": _EXPLAIN,
    "azureml.contrib.functions": "Azure Functions are a service of Azure's. Serve the model with Model.deploy",
    "azureml.contrib.notebook": "run a notebook as a job with ScriptRunConfig(command=['papermill', …])",
    "azureml.contrib.opendatasets": _OPEN_DATA,
    "azureml.contrib.pipeline": _PIPELINE,
    "azureml.contrib.train": _LEARNING,
    "azureml.contrib.gbdt": "call LightGBM from a script of yours, with MpiConfiguration for several nodes",
    "azureml.core.Dataset.auto_read_files": "use Dataset.Tabular.from_delimited_files",
    "azureml.core.LinkedService": _LINKED,
    "azureml.core.PrivateEndPoint": "private endpoints are Azure's. A team's service listens where its operator says",
    "azureml.core.SynapseWorkspaceLinkedServiceConfiguration": _LINKED,
    "azureml.core.attach_legacy_compute_target": "use ComputeTarget.attach",
    "azureml.core.compute.AdlaCompute": "Data Lake Analytics " + _CLOUD_COMPUTE,
    "azureml.core.compute.BatchCompute": "Azure Batch " + _CLOUD_COMPUTE,
    "azureml.core.compute.DataFactoryCompute": "Data Factory " + _CLOUD_COMPUTE,
    "azureml.core.compute.DatabricksCompute": "Databricks " + _CLOUD_COMPUTE,
    "azureml.core.compute.HDInsightCompute": "HDInsight " + _CLOUD_COMPUTE,
    "azureml.core.compute.KubernetesCompute": "Kubernetes " + _CLOUD_COMPUTE,
    "azureml.core.compute.KustoCompute": "Azure Data Explorer " + _CLOUD_COMPUTE,
    "azureml.core.compute.SynapseCompute": "Synapse " + _CLOUD_COMPUTE,
    "azureml.core.compute.aks.AksUpdateConfiguration": _AKS,
    "azureml.core.compute.aks.SslConfiguration": _AKS,
    "azureml.core.databricks": _LIBRARIES,
    "azureml.core.environment.RCranPackage": _R,
    "azureml.core.environment.RGitHubPackage": _R,
    "azureml.core.linked_service": _LINKED,
    "azureml.core.private_endpoint": "private endpoints are Azure's. A team's service listens where its operator says",
    "azureml.core.runconfig.EggLibrary": _LIBRARIES,
    "azureml.core.runconfig.JarLibrary": _LIBRARIES,
    "azureml.core.runconfig.MavenLibrary": _LIBRARIES,
    "azureml.core.runconfig.PyPiLibrary": _LIBRARIES,
    "azureml.core.runconfig.RCranLibrary": _LIBRARIES,
    "azureml.data.HDFSOutputDatasetConfig": "there is no HDFS here. Use OutputFileDatasetConfig",
    "azureml.data.LinkFileOutputDatasetConfig": _LINK,
    "azureml.data.LinkTabularOutputDatasetConfig": _LINK,
    "azureml.data.azure_data_lake_datastore.AzureDataLakeDatastore": (
        "Azure has switched Data Lake Gen1 off. Use Datastore.register_azure_data_lake_gen2"
    ),
    "azureml.data.datacache": "what a run mounts is kept on its node for the next one. Use dataset.as_mount()",
    "azureml.data.dbfs_datastore": "Databricks' file system is not reached from here. Copy the data to a datastore",
    "azureml.data.sql_data_reference": "use Datastore.register_sql and Dataset.Tabular.from_sql_query",
    "azureml.data.stored_procedure_parameter": "use Dataset.Tabular.from_sql_query",
    "azureml.datadrift": "drift monitors are not part of Trainyard. Compare data sets in a run of your own",
    "azureml.dataprep": "use Dataset.Tabular and Dataset.File, or pandas",
    "azureml.explain": _EXPLAIN,
    "azureml.fairness": "fairness dashboards are not part of Trainyard. Call fairlearn from your script",
    "azureml.interpret": _EXPLAIN,
    "azureml.opendatasets.NoaaGfsWeather": _OPEN_DATA,
    "azureml.opendatasets.NoaaIsdWeather": _OPEN_DATA,
    "azureml.opendatasets.NycTlcGreen": _OPEN_DATA,
    "azureml.opendatasets.NycTlcYellow": _OPEN_DATA,
    "azureml.opendatasets.OjSalesSimulated": _OPEN_DATA,
    "azureml.opendatasets.PublicHolidays": _OPEN_DATA,
    "azureml.pipeline": _PIPELINE,
    "azureml.responsibleai": _EXPLAIN,
    "azureml.studio": _PIPELINE,
    "azureml.train.automl": _AUTOML,
    "azureml.train.rl": _LEARNING,
}


def instead_of(name: str) -> str | None:
    """What to use in the place of a name or of what it is in; None for names that the table does not have."""
    parts = name.split(".")
    if any(part.startswith("_") for part in parts[1:]):
        return _INNER
    for length in range(len(parts), 1, -1):
        if found := ELSEWHERE.get(".".join(parts[:length])):
            return found
    return None


def refusal(name: str) -> ImportError:
    """For an import of `name`: says what to use instead."""
    known = instead_of(name)
    said = known or "this version of Trainyard does not have it. docs/compatibility.md lists what there is"
    # Not name=name: that is what `from package import name` takes for "no module of that name", and says nothing of it.
    return ModuleNotFoundError(f"{name}: {said}. `trainyard check` finds such names in a whole folder.", name="azureml")


class Leaves:
    """The first finder of modules: to the modules of the SDK that hold no others, a name that is missing is a module
    that is missing, as to its packages. So `from azureml.core.run import name` comes to NotHere, too."""

    @staticmethod
    def find_spec(fullname: str, path: Any = None, target: Any = None) -> Any:
        if not fullname.startswith("azureml."):
            return None
        found = PathFinder.find_spec(fullname, path, target)
        if found is not None and found.submodule_search_locations is None and type(found.loader) is SourceFileLoader:
            found.loader = _LeafLoader(found.loader.name, found.loader.path)
        return found


class _LeafLoader(SourceFileLoader):
    """Not by its specification, which would make it its own parent: others' modules import their neighbours by `.`."""

    def exec_module(self, module: ModuleType) -> None:
        super().exec_module(module)
        module.__path__ = []


class NotHere:
    """The last finder of modules: nobody else has found this one."""

    @staticmethod
    def find_spec(fullname: str, path: Any = None, target: Any = None) -> None:
        del path, target
        if fullname.startswith("azureml."):
            raise refusal(fullname)
