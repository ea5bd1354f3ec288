"""Re-exports: see trainyard.sdk.services.image."""

from trainyard.sdk.services.image import Image as Image
