"""The version of the SDK whose words we speak: what azureml.core.VERSION says and what SDK packages are pinned to."""

SDK_VERSION = "1.15.0"
