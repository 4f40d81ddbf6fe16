"""Clients of the simulated node: they speak the real protocol, retry as real ones do, and tell what they saw."""
