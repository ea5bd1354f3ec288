"""Re-exports: see trainyard.sdk.services.webservice and its neighbours."""

from trainyard.sdk.services.aci_webservice import AciWebservice as AciWebservice
from trainyard.sdk.services.aks_endpoint import AksEndpoint as AksEndpoint
from trainyard.sdk.services.aks_webservice import AksWebservice as AksWebservice
from trainyard.sdk.services.local_webservice import LocalWebservice as LocalWebservice
from trainyard.sdk.services.webservice import Webservice as Webservice
