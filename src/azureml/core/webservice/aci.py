"""Re-exports: see trainyard.sdk.services.aci_webservice."""

from trainyard.sdk.services.aci_webservice import AciWebservice as AciWebservice
from trainyard.sdk.services.deploy_configurations import (
    AciServiceDeploymentConfiguration as AciServiceDeploymentConfiguration,
)
