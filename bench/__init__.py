"""Penstock beside Apache Kafka: the same machine, the same load, taking turns.

`make bench` runs all of it; `make bench ARGS="--quick --only small_requests"` a part. Results stay in bench/results.
"""
