"""Metadata: an image folded from a log of records, and the controller that decides which records to add."""
