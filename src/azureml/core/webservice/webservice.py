"""Re-exports: see trainyard.sdk.services.webservice."""

from trainyard.sdk.errors import WebserviceException as WebserviceException
from trainyard.sdk.services.deploy_configurations import (
    WebserviceDeploymentConfiguration as WebserviceDeploymentConfiguration,
)
from trainyard.sdk.services.service_parts import ContainerResourceRequirements as ContainerResourceRequirements
from trainyard.sdk.services.service_parts import LivenessProbeRequirements as LivenessProbeRequirements
from trainyard.sdk.services.webservice import Webservice as Webservice
