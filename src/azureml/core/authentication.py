"""Re-exports: see trainyard.sdk.authentication."""

from trainyard.sdk.authentication import AbstractAuthentication as AbstractAuthentication
from trainyard.sdk.authentication import Audience as Audience
from trainyard.sdk.authentication import AzureCliAuthentication as AzureCliAuthentication
from trainyard.sdk.authentication import InteractiveLoginAuthentication as InteractiveLoginAuthentication
from trainyard.sdk.authentication import MsiAuthentication as MsiAuthentication
from trainyard.sdk.authentication import ServicePrincipalAuthentication as ServicePrincipalAuthentication
from trainyard.sdk.authentication import TokenAuthentication as TokenAuthentication
from trainyard.sdk.errors import AuthenticationException as AuthenticationException
from trainyard.sdk.errors import UserErrorException as UserErrorException
