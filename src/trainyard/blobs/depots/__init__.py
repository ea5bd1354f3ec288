"""Depots: where the files of datastores and datasets are, folders, buckets and web servers alike."""
