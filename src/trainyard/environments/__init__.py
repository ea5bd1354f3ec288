"""From a run's environment to an interpreter on this node."""
