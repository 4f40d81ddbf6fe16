"""Declared pipelines: most of it without Spark."""
