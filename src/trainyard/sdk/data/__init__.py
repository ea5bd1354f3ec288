"""Datastores and datasets."""
