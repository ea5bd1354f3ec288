"""Conformance kits and fakes of outside programs, for those who add a backend. Not imported by the product."""
