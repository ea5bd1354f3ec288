"""Re-exports: see trainyard.sdk.models.model and its neighbours."""

from trainyard.sdk.data.dataset import Dataset as Dataset
from trainyard.sdk.errors import ModelNotFoundException as ModelNotFoundException
from trainyard.sdk.errors import UserErrorException as UserErrorException
from trainyard.sdk.errors import WebserviceException as WebserviceException
from trainyard.sdk.models.model import Model as Model
from trainyard.sdk.models.model_package import ModelPackage as ModelPackage
from trainyard.sdk.models.resource_configuration import ResourceConfiguration as ResourceConfiguration
from trainyard.sdk.services.inference_config import InferenceConfig as InferenceConfig
