"""Re-exports: see trainyard.sdk.services.webservice."""

from trainyard.sdk.errors import WebserviceException as WebserviceException
from trainyard.sdk.services.deploy_configurations import (
    WebserviceDeploymentConfiguration as WebserviceDeploymentConfiguration,
)
from trainyard.sdk.services.webservice import Webservice as Webservice
