"""Re-exports: see trainyard.sdk.services.aks_webservice and trainyard.sdk.services.aks_endpoint."""

from trainyard.sdk.services.aks_endpoint import AksEndpoint as AksEndpoint
from trainyard.sdk.services.aks_webservice import AksWebservice as AksWebservice
from trainyard.sdk.services.deploy_configurations import (
    AksEndpointDeploymentConfiguration as AksEndpointDeploymentConfiguration,
)
from trainyard.sdk.services.deploy_configurations import (
    AksServiceDeploymentConfiguration as AksServiceDeploymentConfiguration,
)
from trainyard.sdk.services.service_parts import AksServiceAccessToken as AksServiceAccessToken
from trainyard.sdk.services.service_parts import AutoScaler as AutoScaler
from trainyard.sdk.services.service_parts import ContainerResourceRequirements as ContainerResourceRequirements
from trainyard.sdk.services.service_parts import DataCollection as DataCollection
from trainyard.sdk.services.service_parts import LivenessProbeRequirements as LivenessProbeRequirements
