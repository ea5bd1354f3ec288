"""Re-exports: see trainyard.sdk.keyvault."""

from trainyard.sdk.keyvault import Keyvault as Keyvault
