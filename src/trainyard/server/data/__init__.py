"""Datastores, datasets, and which run read or left what."""
