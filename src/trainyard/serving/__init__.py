"""The front of a deployed service: HTTP, keys, queue and batches, in our interpreter, one process per service."""
