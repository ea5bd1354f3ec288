"""The service. Nothing imports it: it is started as a program (`python -m trainyard.server`)."""
