"""Reading late: what it costs when records have left the page cache, and how fast a backlog is gone."""

import os
import time
from pathlib import Path

from confluent_kafka import Consumer

from bench.clusters import PenstockNodes
from bench.tradeoffs.experiment import Experiment, Row, bootstrap_of, topic
from bench.tradeoffs.producing import Settings, flat_out

VALUE = b"x" * 1024
RECORDS = 1_000_000
IDLE_TIMEOUT_S = 30.0
POLL_RECORDS = 10_000
PARTITIONS = 3
# A consumer of librdkafka that has fetched more than its queue holds asks nobody for a second.
EAGER: Settings = {"fetch.queue.backoff.ms": 1}


def run_cold(nodes: PenstockNodes) -> list[Row]:
    with topic(nodes, PARTITIONS) as name:
        _fill(nodes, name)
        warm = _drain(nodes, name, "warm", EAGER)
        _forget(nodes, name)
        cold = _drain(nodes, name, "cold", EAGER)
    return [("in the page cache", warm), ("from the disk", cold)]


def run_lag(nodes: PenstockNodes) -> list[Row]:
    with topic(nodes, PARTITIONS) as name:
        _fill(nodes, name)
        return [
            ("the client's own settings", _drain(nodes, name, "one", {})),
            ("fetch.queue.backoff.ms=1", _drain(nodes, name, "other", EAGER)),
        ]


def _fill(nodes: PenstockNodes, name: str) -> None:
    """The topic's records, and a disk that has nothing left to do: the first group of a cluster makes the topic of its
    offsets, which would wait behind three gigabytes."""
    flat_out({"bootstrap.servers": bootstrap_of(nodes), "linger.ms": 20}, name, [VALUE] * RECORDS)
    os.sync()


def _drain(nodes: PenstockNodes, name: str, group: str, wishes: Settings) -> dict[str, float]:
    """One consumer of a group, until it has all of them."""
    first: Settings = {"bootstrap.servers": bootstrap_of(nodes), "group.id": group, "auto.offset.reset": "earliest"}
    consumer = Consumer({**first, **wishes})
    consumer.subscribe([name])
    began = time.monotonic()
    seen = 0
    while seen < RECORDS:
        messages = consumer.consume(min(POLL_RECORDS, RECORDS - seen), timeout=IDLE_TIMEOUT_S)
        assert messages, f"nothing came after {seen:,} of {RECORDS:,} records"
        seen += len(messages)
    taken_s = time.monotonic() - began
    consumer.close()
    return {"seconds": taken_s, "records_per_s": RECORDS / taken_s, "mb_per_s": RECORDS * len(VALUE) / taken_s / 1e6}


def _forget(nodes: PenstockNodes, name: str) -> None:
    """Takes the topic out of the page cache; only what is on the disk already can be taken out."""
    os.sync()
    for number in (1, 2, 3):
        for file in nodes.data_dir(number).rglob(f"{name}-*/*.log"):
            _drop(file)


def _drop(file: Path) -> None:
    handle = os.open(file, os.O_RDONLY)
    try:
        os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(handle)


_SHOWN = (("seconds", "s for 1,000,000 records of 1 KB"), ("mb_per_s", "MB/s"))
COLD_READS = Experiment("cold_reads", "What does it cost to read what memory has forgotten?", run_cold, _SHOWN)
DRAINING = Experiment(
    "draining", "A consumer comes back to a lag of 1,000,000 records: when is it gone?", run_lag, _SHOWN
)
