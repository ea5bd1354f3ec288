"""Re-exports: see trainyard.sdk.services.image."""

from trainyard.sdk.services.image import ContainerImage as ContainerImage
from trainyard.sdk.services.image import ContainerImageConfig as ContainerImageConfig
from trainyard.sdk.services.image import Image as Image
