"""Sweeps: parents whose children a sampler proposes and a policy may end."""
