"""Collecting what a service is asked and what it answers."""

from trainyard.scoring.collector import ModelDataCollector

__all__ = ["ModelDataCollector"]
