"""What topics that demand schemas cost: `python -m bench.validation` prints produce throughput with and without, in
turns, for a generator that saturates a node and for a usual client, and how many Avro records a worker reads a second.

Run it on a quiet machine, with the node's data on tmpfs (TMPDIR).
"""

from __future__ import annotations

import argparse
import io
import json
import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any, Final

import fastavro
from confluent_kafka import Producer

from bench.loadgen import Options, run_load
from penstock.core.records.build import build_batch
from penstock.core.records.examine import Question, examine_all
from penstock.core.records.schema_ids import Demand, Known, Named, SchemaText
from penstock.core.records.validate import Rules
from penstock.schemas.payloads.making import make_check
from penstock.testing import Broker

ID: Final = 7
PLAIN, CHECKED = "plain", "checked"
SHAPES: Final = ((160, 95), (16, 1_000))
"""Records of a batch, and bytes of a value: about 16 KB each."""
ORDER: Final = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "customer", "type": "string"},
        {"name": "amount", "type": "double"},
        {"name": "note", "type": ["null", "string"], "default": None},
        {"name": "at", "type": "long"},
    ],
}
AN_ORDER: Final = {"id": 1 << 40, "customer": "c-12345", "amount": 12.5, "note": "a note", "at": 1_700_000_000_000}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--records", type=int, default=200_000, help="of the usual client, in each round")
    asked = parser.parse_args()
    print(f"a worker reads {avro_per_s():,.0f} Avro records of five fields a second")
    with Broker(beside=True) as broker:
        prepare(broker)
        for records, value_bytes in SHAPES:
            options: Options = {"records": records, "value_bytes": value_bytes, "seconds": asked.seconds}
            compare(
                f"batches of {records} values of {value_bytes} bytes, 8 connections, MB/s",
                asked.rounds,
                partial(saturated, broker, options),
            )
        compare(
            "a client of librdkafka, values of 1,000 bytes, records/s",
            asked.rounds,
            partial(usual, broker, asked.records),
        )


def compare(what: str, rounds: int, measure: Callable[[str], float]) -> None:
    found: dict[str, list[float]] = {PLAIN: [], CHECKED: []}
    for topic in found:
        measure(topic)  # So that both are warm.
    for _ in range(rounds):
        for topic, figures in found.items():
            figures.append(measure(topic))
    plain, checked = statistics.median(found[PLAIN]), statistics.median(found[CHECKED])
    print(f"{what}: off {plain:,.0f}, by id {checked:,.0f}: {100 * (checked / plain - 1):+.1f} %", flush=True)


def prepare(broker: Broker) -> None:
    """A schema, and two topics of which one demands it; neither keeps much."""
    broker.create_topic("_schemas", cleanup_policy="compact")
    kept = {"retention_bytes": "200000000", "segment_bytes": "100000000"}
    broker.create_topic(PLAIN, 4, **kept)
    broker.create_topic(CHECKED, 4, **kept, penstock_value_schema_validation="id")
    key = {"keytype": "SCHEMA", "subject": f"{CHECKED}-value", "version": 1, "magic": 1}
    value = {"subject": f"{CHECKED}-value", "version": 1, "id": ID, "schema": json.dumps(ORDER), "deleted": False}
    client = Producer({"bootstrap.servers": broker.bootstrap})
    client.produce("_schemas", json.dumps(value), json.dumps(key))
    client.flush(10)


def saturated(broker: Broker, options: Options, topic: str) -> float:
    load: Options = {"port": broker.port, "topic": topic, "partitions": 4, "connections": 8, "depth": 5}
    return run_load("produce", {**load, **options, "schema_id": ID})["mb_per_s"]


def usual(broker: Broker, records: int, topic: str) -> float:
    settings = {"linger.ms": 5, "queue.buffering.max.messages": 1_000_000}
    client = Producer({"bootstrap.servers": broker.bootstrap, **settings})
    value = b"\0" + ID.to_bytes(4, "big") + bytes(1_000)
    begin = time.perf_counter()
    for number in range(records):
        client.produce(topic, value, partition=number % 4)
        if number % 10_000 == 0:
            client.poll(0)
    assert client.flush(60) == 0
    return records / (time.perf_counter() - begin)


def avro_per_s(records: int = 1_000, rounds: int = 50) -> float:
    """All that a worker does for a batch: unpack, walk, look at each payload."""
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(ORDER), AN_ORDER)
    value = b"\0" + ID.to_bytes(4, "big") + out.getvalue()
    batch = bytes(build_batch([(None, value, (), 1_000) for _ in range(records)]))
    rules = Rules(max_message_bytes=1 << 20, demands=(Demand(False, "payload", "topic"),))
    known = Known({Named(False, ID): SchemaText("AVRO", json.dumps(ORDER))}, make_check)
    files: Any = None  # It reads no files.
    questions = [Question(batch, rules, 1_000, known)]
    assert examine_all(files, questions) == [None]
    begin = time.perf_counter()
    for _ in range(rounds):
        examine_all(files, questions)
    return records * rounds / (time.perf_counter() - begin)


if __name__ == "__main__":
    main()
