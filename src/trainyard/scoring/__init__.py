"""What runs in a scoring process: the user's init() and run(), or a model without code, in the user's own environment.

Standard library alone, in the syntax of Python 3.8; a framework is imported only by the scorer that needs it."""
