"""Deployed models."""
