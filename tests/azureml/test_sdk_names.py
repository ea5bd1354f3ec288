import importlib
import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    ("module", "names"),
    [
        (
            "azureml.core",
            "Workspace Experiment Run ScriptRun ScriptRunConfig RunConfiguration Environment ComputeTarget VERSION",
        ),
        ("azureml.core", "ContainerRegistry __version__"),
        ("azureml.core.workspace", "Workspace"),
        ("azureml.core.experiment", "Experiment ViewType"),
        ("azureml.core", "get_run"),
        ("azureml.core.run", "Run _OfflineRun _SubmittedRun get_run RunEnvironmentException"),
        ("azureml.core.authentication", "AuthenticationException UserErrorException"),
        ("azureml.core.workspace", "WorkspaceException ProjectSystemException"),
        ("azureml.core.model", "WebserviceException ModelNotFoundException"),
        ("azureml.core.compute", "ComputeTargetException"),
        ("azureml.core.image.image", "Image"),
        ("azureml.contrib.services", "AMLRequest AMLResponse rawhttp"),
        ("azureml.exceptions._azureml_exception", "AzureMLException UserErrorException"),
        ("azureml.core.runconfig", "EnvironmentDefinition"),
        ("azureml.core.image.container", "ContainerImage ContainerImageConfig"),
        ("azureml.core.script_run", "ScriptRun"),
        ("azureml.core.script_run_config", "ScriptRunConfig"),
        ("azureml.core.runconfig", "RunConfiguration CondaDependencies MpiConfiguration DEFAULT_CPU_IMAGE"),
        ("azureml.core.runconfig", "TensorflowConfiguration PyTorchConfiguration DockerConfiguration"),
        ("azureml.core.environment", "Environment CondaDependencies DockerSection PythonSection ImageBuildDetails"),
        ("azureml.train.estimator", "Estimator"),
        ("azureml.train.dnn", "TensorFlow PyTorch Chainer Mpi ParameterServer Gloo Nccl"),
        ("azureml.train.sklearn", "SKLearn"),
        ("azureml.train.hyperdrive", "HyperDriveConfig HyperDriveRunConfig HyperDriveRun PrimaryMetricGoal choice"),
        ("azureml.train.hyperdrive", "RandomParameterSampling GridParameterSampling BayesianParameterSampling"),
        ("azureml.train.hyperdrive", "BanditPolicy MedianStoppingPolicy TruncationSelectionPolicy NoTerminationPolicy"),
        ("azureml.train.hyperdrive.parameter_expressions", "choice randint uniform quniform loguniform qloguniform"),
        ("azureml.train.hyperdrive.parameter_expressions", "normal qnormal lognormal qlognormal"),
        ("azureml.train.hyperdrive.policy", "BanditPolicy"),
        ("azureml.train.hyperdrive.sampling", "RandomParameterSampling"),
        ("azureml.train.hyperdrive.run", "HyperDriveRun PrimaryMetricGoal"),
        ("azureml.train.hyperdrive.runconfig", "HyperDriveConfig HyperDriveRunConfig PrimaryMetricGoal"),
        ("azureml.train.hyperdrive.exceptions", "HyperDriveConfigException HyperDriveNotImplementedException"),
        ("azureml.core.conda_dependencies", "CondaDependencies"),
        ("azureml.core.compute", "ComputeTarget AmlCompute BatchAiCompute"),
        ("azureml.core.compute", "AksCompute"),
        ("azureml.core", "Model Webservice Image"),
        ("azureml.core.model", "Model InferenceConfig ModelPackage ResourceConfiguration"),
        ("azureml.core.resource_configuration", "ResourceConfiguration"),
        ("azureml.core.profile", "ModelProfile"),
        ("azureml.core.webservice", "Webservice AciWebservice AksWebservice AksEndpoint LocalWebservice"),
        ("azureml.core.webservice.aks", "AksServiceDeploymentConfiguration AksServiceAccessToken AutoScaler"),
        ("azureml.core.webservice.webservice", "Webservice WebserviceException WebserviceDeploymentConfiguration"),
        ("azureml.core.webservice.webservice", "ContainerResourceRequirements LivenessProbeRequirements"),
        ("azureml.core.image", "Image ContainerImage"),
        ("azureml.monitoring", "ModelDataCollector"),
        ("azureml.core.compute.amlcompute", "AmlCompute AmlComputeStatus"),
        ("azureml.core.compute_target", "ComputeTargetException"),
        ("azureml.core.container_registry", "ContainerRegistry"),
        ("azureml.core.authentication", "InteractiveLoginAuthentication ServicePrincipalAuthentication"),
        ("azureml.exceptions", "AzureMLException UserErrorException ActivityFailedException"),
        ("azureml.core", "Dataset Datastore"),
        ("azureml.core.dataset", "Dataset"),
        ("azureml.core.datastore", "Datastore"),
        ("azureml.data", "FileDataset TabularDataset OutputFileDatasetConfig DataType __version__"),
        ("azureml.data.abstract_dataset", "AbstractDataset"),
        ("azureml.data.azure_storage_datastore", "AzureBlobDatastore AzureFileDatastore"),
        ("azureml.data.azure_data_lake_datastore", "AzureDataLakeGen2Datastore"),
        ("azureml.data.data_reference", "DataReference"),
        ("azureml.data.datapath", "DataPath DataPathComputeBinding"),
        ("azureml.data.dataset_consumption_config", "DatasetConsumptionConfig"),
        ("azureml.data.dataset_error_handling", "DatasetValidationError DatasetExecutionError"),
        ("azureml.data.dataset_factory", "DataType FileDatasetFactory TabularDatasetFactory"),
        ("azureml.data.output_dataset_config", "OutputFileDatasetConfig"),
        ("azureml.opendatasets", "MNIST Diabetes"),
        ("azureml.telemetry", "set_diagnostics_collection"),
        ("azureml.tensorboard", "Tensorboard"),
        ("azureml.tensorboard.tensorboard", "Tensorboard LOGS_DIR"),
        ("azureml.tensorboard.export", "export_to_tensorboard"),
        ("azureml.contrib.tensorboard", "Tensorboard"),
        ("azureml.contrib.tensorboard.tensorboard", "Tensorboard"),
        ("azureml.contrib.tensorboard.export", "export_to_tensorboard"),
    ],
)
def test_the_sdks_names_are_there(module, names):
    found = importlib.import_module(module)
    assert all(getattr(found, name) is not None for name in names.split())


@pytest.mark.parametrize("name", ["ComputeInstance", "LinkedService"])
def test_names_of_later_versions_say_so(name):
    with pytest.raises(ImportError, match=f"azureml.core.{name}: "):
        exec(f"from azureml.core import {name}")


def test_a_name_nobody_has_is_an_attribute_error():
    with pytest.raises(AttributeError):
        importlib.import_module("azureml.core").Nonsense  # noqa: B018


def test_a_login_is_accepted_and_says_that_it_does_nothing():
    authentication = importlib.import_module("azureml.core.authentication")
    with pytest.warns(UserWarning, match="MsiAuthentication has no effect"):
        authentication.MsiAuthentication()


def test_what_came_with_the_core_needs_no_import_of_its_own():
    code = "import azureml.core; print(azureml.data.__version__ == azureml.core.VERSION, azureml.exceptions.__name__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "True azureml.exceptions\n"


def test_a_script_that_wants_a_run_does_not_load_the_rest():
    code = (
        "import sys; from azureml.core import Run; Run.get_context()\n"
        "print(sorted({'http.client', 'ssl', 'subprocess', 'logging', 'tempfile', 'numpy', 'pathspec',"
        "'trainyard.sdk.computes.amlcompute', 'trainyard.sdk.environments.environment',"
        "'trainyard.sdk.estimators.estimator_base'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
