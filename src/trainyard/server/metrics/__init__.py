"""Metric values: packed chunks per metric, a summary row for sorting and search."""
