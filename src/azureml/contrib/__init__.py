"""The SDK's early names for what later left `contrib`."""
