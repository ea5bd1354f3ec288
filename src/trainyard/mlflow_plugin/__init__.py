"""What MLflow finds of us through its plug-in points (the entry points in pyproject.toml). MLflow loads it; nothing
else imports it, and MLflow itself comes from the extra `mlflow`."""
