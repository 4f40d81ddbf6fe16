"""What producers send and consumers get: of all topics together, and of each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from heapq import nlargest
from typing import Final

from penstock.core.delivery.dead_letter import SUFFIX
from penstock.core.node.node import Node
from penstock.core.partition.traffic import Traffic
from penstock.shell.exposition.census import Census
from penstock.shell.exposition.families import COUNTER, GAUGE, HISTOGRAM, Family, Sample, buckets, labels, single

TOPICS_MAX: Final = 1_000
"""Topics that are told of one by one; the busiest, where there are more. All of them are in the sums."""

NAMES: Final[tuple[tuple[str, str, Callable[[Traffic], int]], ...]] = (
    ("bytesin", "Bytes that producers sent.", lambda each: each.bytes_in),
    ("bytesout", "Bytes that consumers got.", lambda each: each.bytes_out),
    ("messagesin", "Records that producers sent.", lambda each: each.records_in),
    ("totalproducerequests", "Batches that producers sent.", lambda each: each.batches_in + each.produces_failed),
    ("failedproducerequests", "Batches that were refused.", lambda each: each.produces_failed),
    ("totalfetchrequests", "Looks that consumers took at a partition.", lambda each: each.fetches),
    ("failedfetchrequests", "Looks that were refused.", lambda each: each.fetches_failed),
    ("replicationbytesout", "Bytes that followers got.", lambda each: each.replicated_bytes_out),
)


def topic_families(node: Node, census: Census) -> Iterator[Family]:
    if not node.has_opened:
        return
    told = _busiest(node)
    for name, text, value in NAMES:
        full_name = f"kafka_server_brokertopicmetrics_{name}_total"
        yield Family(full_name, COUNTER, text, _traffic(node, told, value))
    sizes = ((labels(topic=name), census.log_bytes[name]) for name in told)
    yield Family("penstock_topic_log_bytes", GAUGE, "Bytes of a topic's logs on this node.", sizes)
    dead = (each.records_in for name, each in node.replicas.traffic.items() if name.endswith(SUFFIX))
    text = "Records that nobody could handle, in topics whose names end with .dlq."
    yield single("penstock_dead_letters_total", COUNTER, text, sum(dead))
    left_out = len(node.replicas.traffic) - len(told)
    yield single("penstock_topics_left_out", GAUGE, "Topics that are in the sums only.", left_out)


def batch_families(node: Node) -> Iterator[Family]:
    if not node.has_opened:
        return
    intake = node.replicas.intake
    text = "Sizes of producers' batches as they came, the mean of those that came together."
    yield Family("penstock_produce_batch_bytes", HISTOGRAM, text, buckets(intake.batch_sizes, 1))
    samples = sorted(intake.samples.items())
    text = "Unpacked size over packed size of the compressed batches that were looked at, one a second."
    ratios = ((labels(codec=codec), each.unpacked_bytes / each.packed_bytes) for codec, each in samples)
    yield Family("penstock_produce_compression_ratio", GAUGE, text, ratios)
    looked_at = ((labels(codec=codec), each.batches) for codec, each in samples)
    yield Family("penstock_produce_sampled_batches_total", COUNTER, "Batches that were looked at.", looked_at)


def _busiest(node: Node) -> list[str]:
    traffic = node.replicas.traffic
    if len(traffic) <= TOPICS_MAX:
        return sorted(traffic)
    return sorted(nlargest(TOPICS_MAX, traffic, key=lambda name: traffic[name].bytes_in + traffic[name].bytes_out))


def _traffic(node: Node, told: list[str], value: Callable[[Traffic], int]) -> Iterator[Sample]:
    """All topics together first, those that are gone included: such a counter never goes back."""
    traffic = node.replicas.traffic
    yield "", value(node.replicas.past_traffic) + sum(map(value, traffic.values()))
    for name in told:
        if (found := traffic.get(name)) is not None:
            yield labels(topic=name), value(found)
