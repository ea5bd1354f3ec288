from trainyard.scoring.messages import AMLResponse

__all__ = ["AMLResponse"]
