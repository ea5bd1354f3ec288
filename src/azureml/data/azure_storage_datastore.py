"""Re-exports: see trainyard.sdk.data.datastore_kinds."""

from trainyard.sdk.data.datastore_kinds import AzureBlobDatastore as AzureBlobDatastore
from trainyard.sdk.data.datastore_kinds import AzureFileDatastore as AzureFileDatastore
