"""MLflow's tracking API over what the other features keep: an adapter, with tables for what only MLflow knows."""
