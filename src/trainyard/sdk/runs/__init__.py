"""Runs: what they are, what they log, how they are followed and found."""
