"""Environments: what a user says of packages, and what becomes of it."""
