"""What clients ask, how long that takes, and who is connected."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from penstock.core.node.node import Node
from penstock.shell.exposition.families import COUNTER, GAUGE, HISTOGRAM, Family, Sample, buckets, labels, single

US_PER_S = 1e6


def request_families(node: Node) -> Iterator[Family]:
    metrics = node.metrics
    text = "Time from a request's arrival to its reply, by API."
    yield Family("penstock_request_duration_seconds", HISTOGRAM, text, _latencies(node))
    text = "The same by phase: queue, local, remote, response."
    yield Family("penstock_request_phase_seconds", HISTOGRAM, text, _phases(node))
    errors = ((labels(api=api, error=code), count) for (api, code), count in sorted(metrics.errors.items()))
    yield Family("penstock_errors_total", COUNTER, "Errors told to clients, by API and code.", errors)
    yield Family("penstock_throttled_total", COUNTER, "Requests over a quota, by API.", by("api", metrics.throttled))
    text = "For how long clients over a quota were told to rest."
    yield single("penstock_throttle_seconds_total", COUNTER, text, metrics.throttled_ms / 1000)


def connection_families(node: Node) -> Iterator[Family]:
    metrics = node.metrics
    open_now = Counter(each.context.listener for each in node.connections)
    open_now.update(dict.fromkeys(metrics.connections_opened, 0))
    name = "kafka_server_socket_server_metrics"
    yield Family(f"{name}_connection_count", GAUGE, "Connections, by listener.", _by_listener(open_now))
    opened = _by_listener(metrics.connections_opened)
    yield Family(f"{name}_connection_creation_total", COUNTER, "Connections that were opened.", opened)
    failures = _by_listener(Counter(dict.fromkeys(metrics.connections_opened, 0)) + metrics.authentication_failures)
    yield Family(f"{name}_failed_authentication_total", COUNTER, "Who failed to say who he is.", failures)
    refused, malformed = metrics.connections_refused, metrics.malformed
    yield single("penstock_connections", GAUGE, "Open client connections.", len(node.connections))
    yield single("penstock_connections_refused_total", COUNTER, "Connections over a limit.", refused)
    yield single("penstock_malformed_total", COUNTER, "Connections closed for bytes that are not Kafka.", malformed)
    yield single("penstock_bytes_in_total", COUNTER, "Bytes received from clients.", metrics.bytes_in)
    yield single("penstock_bytes_out_total", COUNTER, "Bytes sent to clients.", metrics.bytes_out)


def certificate_families(node: Node, expiries_s: Mapping[str, int]) -> Iterator[Family]:
    cluster = node.meta.cluster_id if node.has_opened else ""
    text = "When the first of the certificates expires that a listener shows, in milliseconds since 1970."
    at = ((labels(cluster=cluster, type=name), at_s * 1000) for name, at_s in sorted(expiries_s.items()))
    yield Family("strimzi_certificate_expiration_timestamp_ms", GAUGE, text, at)


def by(label: str, counts: Counter[str]) -> Iterator[Sample]:
    for name, count in sorted(counts.items()):
        yield labels(**{label: name}), count


def _by_listener(counts: Counter[str]) -> Iterator[Sample]:
    """There is one thread for all of them."""
    for listener, count in sorted(counts.items()):
        yield labels(listener=listener, networkProcessor=0), count


def _latencies(node: Node) -> Iterator[Sample]:
    for api, times in sorted(node.metrics.request_times.items()):
        if (whole := times.whole()).count:
            yield from buckets(whole, US_PER_S, api=api)


def _phases(node: Node) -> Iterator[Sample]:
    for api, times in sorted(node.metrics.request_times.items()):
        for phase, histogram in times.by_phase():
            yield from buckets(histogram, US_PER_S, api=api, phase=phase)
