"""What a user holds: workspaces, experiments, runs, configurations and compute targets, in the SDK's words."""
