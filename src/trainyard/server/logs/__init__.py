"""Logs: append-only bytes by offset, streamed to readers as they come."""
