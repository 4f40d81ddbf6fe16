"""Transactions by real client libraries, all through the same scenarios."""
