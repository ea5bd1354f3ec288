"""Blobs over HTTP. Between processes of one machine they do not pass through here."""
