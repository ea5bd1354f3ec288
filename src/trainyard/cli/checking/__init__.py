"""What `trainyard check` does: read sources, and say what in them is here, what needs help and what cannot be had."""
