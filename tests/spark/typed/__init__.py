"""Typed columns: decoding and encoding without Spark, and one module of queries."""
