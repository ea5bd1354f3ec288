"""Runs, their attempts, history and files."""
