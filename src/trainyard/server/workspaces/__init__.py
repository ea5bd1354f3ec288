"""Workspaces and the experiments in them."""
