"""From a configuration to a run that is accepted."""
