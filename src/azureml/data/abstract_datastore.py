"""Re-exports: see trainyard.sdk.data.datastore_kinds."""

from trainyard.sdk.data.datastore_kinds import AbstractDatastore as AbstractDatastore
