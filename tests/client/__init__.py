"""Tests of `penstock.core.peer` and `penstock.client`: byte by byte, against a scripted broker, and against Kafka."""
