"""Tests of what runs on the executors; most of them without Spark."""
