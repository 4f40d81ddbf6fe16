"""Streams groups (KIP-1071): the tasks of a Kafka Streams application, which its members get by number."""
