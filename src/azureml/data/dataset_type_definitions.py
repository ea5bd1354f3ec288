"""Re-exports: see trainyard.sdk.data.readers."""

from trainyard.sdk.data.readers import FileEncoding as FileEncoding
from trainyard.sdk.data.readers import PromoteHeadersBehavior as PromoteHeadersBehavior
