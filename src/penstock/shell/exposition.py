"""The node's counters in Prometheus' text format."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from penstock.core.node.metrics import LATENCY_BOUNDS_US
from penstock.core.node.node import Node
from penstock.core.partition.partition import Partition


def render(node: Node) -> str:
    return "\n".join([*_node(node), *_requests(node), *_partitions(node)]) + "\n"


def _family(name: str, kind: str, text: str, samples: Iterable[str]) -> Iterator[str]:
    yield f"# HELP {name} {text}"
    yield f"# TYPE {name} {kind}"
    yield from samples


def _node(node: Node) -> Iterator[str]:
    metrics = node.metrics
    plain = (
        ("penstock_bytes_in_total", "counter", "Bytes received from clients.", metrics.bytes_in),
        ("penstock_bytes_out_total", "counter", "Bytes sent to clients.", metrics.bytes_out),
        ("penstock_connections", "gauge", "Open client connections.", len(node.connections)),
        ("penstock_connections_refused_total", "counter", "Connections over a limit.", metrics.connections_refused),
        ("penstock_malformed_total", "counter", "Connections closed for bytes that are not Kafka.", metrics.malformed),
        ("penstock_fetch_sessions", "gauge", "Incremental fetch sessions.", node.fetching.session_count),
        ("penstock_loop_stall_ms_max", "gauge", "The longest turn so far, in milliseconds.", metrics.stall_ms_max),
        ("penstock_disk_full", "gauge", "1 while writes are refused for want of room.", int(node.disk_full)),
        ("penstock_topics", "gauge", "Topics.", len(node.image.topics)),
    )
    for name, kind, text, value in plain:
        yield from _family(name, kind, text, [f"{name} {value}"])


def _requests(node: Node) -> Iterator[str]:
    name = "penstock_request_duration_seconds"
    yield from _family(name, "histogram", "Time from a request's arrival to its reply, by API.", _latencies(node, name))
    name = "penstock_errors_total"
    samples = (
        f'{name}{{api="{api}",error="{code}"}} {count}' for (api, code), count in sorted(node.metrics.errors.items())
    )
    yield from _family(name, "counter", "Errors told to clients, by API and code.", samples)


def _latencies(node: Node, name: str) -> Iterator[str]:
    for api, histogram in sorted(node.metrics.latency.items()):
        total = 0
        for bound_us, count in zip((*LATENCY_BOUNDS_US, None), histogram.counts, strict=True):
            total += count
            bound = "+Inf" if bound_us is None else f"{bound_us / 1e6:g}"
            yield f'{name}_bucket{{api="{api}",le="{bound}"}} {total}'
        yield f'{name}_sum{{api="{api}"}} {histogram.total_us / 1e6:g}'
        yield f'{name}_count{{api="{api}"}} {total}'


def _partitions(node: Node) -> Iterator[str]:
    partitions = sorted(node.replicas, key=lambda each: (each.topic, each.index))
    families: tuple[tuple[str, str, str, Callable[[Partition], int]], ...] = (
        ("penstock_log_size_bytes", "gauge", "Bytes of a partition's log.", lambda each: each.log.size_bytes()),
        ("penstock_log_start_offset", "gauge", "First offset of a partition.", lambda each: each.log.start_offset),
        ("penstock_log_end_offset", "gauge", "Next offset of a partition.", lambda each: each.log.end_offset),
        ("penstock_topic_bytes_in_total", "counter", "Bytes produced to a partition.", lambda each: each.bytes_in),
    )
    for name, kind, text, value in families:
        samples = (f'{name}{{topic="{each.topic}",partition="{each.index}"}} {value(each)}' for each in partitions)
        yield from _family(name, kind, text, samples)
