"""Samplers and early-termination policies: functions of a sweep's history."""
