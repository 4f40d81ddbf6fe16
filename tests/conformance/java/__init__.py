"""Kafka's own command-line tools against a running node, and against its files."""
