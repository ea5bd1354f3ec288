"""Compute targets: named records of node shape and limits, and the logical nodes that are up."""
