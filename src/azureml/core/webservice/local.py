"""Re-exports: see trainyard.sdk.services.local_webservice."""

from trainyard.sdk.services.deploy_configurations import (
    LocalWebserviceDeploymentConfiguration as LocalWebserviceDeploymentConfiguration,
)
from trainyard.sdk.services.local_webservice import LocalWebservice as LocalWebservice
