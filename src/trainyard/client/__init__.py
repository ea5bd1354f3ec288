"""The HTTP client, one module per API area. Standard library only: it also runs inside jobs."""
