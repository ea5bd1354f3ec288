"""Registered environments, and builds that somebody asked for without a run."""
