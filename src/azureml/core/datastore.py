"""Re-exports: see trainyard.sdk.data.datastore."""

from trainyard.sdk.data.datastore import Datastore as Datastore
