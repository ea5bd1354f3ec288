"""Deployed services: wishes in rows, made true by a thread that starts and watches their front processes."""
