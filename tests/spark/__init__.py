"""Tests that start Spark: one session per test process, Spark's own connector beside ours, a real cluster."""
