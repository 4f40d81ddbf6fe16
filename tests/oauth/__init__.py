"""Signed tokens: what is taken, and what is not."""
