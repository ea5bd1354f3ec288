"""Secrets of a workspace, encrypted in its rows."""
