"""Models: names, versions and what they are made of."""
