from trainyard.scoring.messages import AMLRequest, rawhttp

__all__ = ["AMLRequest", "rawhttp"]
