from trainyard.scoring.collector import ModelDataCollector

__all__ = ["ModelDataCollector"]
