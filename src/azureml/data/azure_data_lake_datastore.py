"""Re-exports: see trainyard.sdk.data.datastore_kinds."""

from trainyard.sdk.data.datastore_kinds import AzureDataLakeGen2Datastore as AzureDataLakeGen2Datastore
