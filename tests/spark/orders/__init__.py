"""The orders example: each stage by itself, then all of it on a node and on a real cluster."""
