"""Chains of topics: programs read one, write to the next, and commit how far they have read, all in one transaction."""
