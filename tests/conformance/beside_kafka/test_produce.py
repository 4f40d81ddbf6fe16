"""Produce: every batch that must not be written, and what the producer is told about it."""

import struct
import time
from typing import Any

import pytest

from penstock.core.records.batch import read_header
from penstock.core.records.build import build_batch, seal
from penstock.core.records.checksum import compute
from tests.conformance.beside_kafka.side import IdOf, Side, Sides

pytestmark = [pytest.mark.java, pytest.mark.slow]

T = 1_000_000
CRC_AT = 17
MAGIC_AT = 16
INVALID_RECORD = 87


def batch(*values: bytes | None, key: bytes | None = b"k", timestamp: int = T, **more: Any) -> bytearray:
    return build_batch([(key, value, (), timestamp) for value in values], **more)


def resealed(data: bytearray) -> bytearray:
    """With the checksum of what it holds now."""
    struct.pack_into(">I", data, CRC_AT, compute(data, 0, len(data)))
    return data


def poked(at: int, form: str, value: int, *, reseal: bool = True, count: int = 1) -> bytearray:
    """A good batch with one field of its header overwritten."""
    data = batch(*[b"value"] * count)
    struct.pack_into(form, data, at, value)
    return resealed(data) if reseal else data


def produce(records: bytes | bytearray | None, topic: str, index: int = 0, **more: Any) -> dict[str, Any]:
    row = {"index": index, "records": None if records is None else bytes(records)}
    return {
        "acks": -1,
        "timeout_ms": 5000,
        "topic_data": [{"name": topic, "topic_id": IdOf(topic), "partition_data": [row]}],
    } | more


LENGTH, LEADER_EPOCH, ATTRIBUTES, LAST_OFFSET_DELTA, BASE_TIMESTAMP, MAX_TIMESTAMP = 8, 12, 21, 23, 27, 35
PRODUCER_ID, PRODUCER_EPOCH, BASE_SEQUENCE, COUNT = 43, 51, 53, 57

BAD = {
    "checksum": poked(CRC_AT, ">I", 1, reseal=False),
    "magic 0": poked(MAGIC_AT, ">b", 0, reseal=False),
    "magic 1": poked(MAGIC_AT, ">b", 1, reseal=False),
    "magic 3": poked(MAGIC_AT, ">b", 3, reseal=False),
    "negative magic": poked(MAGIC_AT, ">b", -1, reseal=False),
    "two batches": batch(b"one") + batch(b"two"),
    "empty": b"",
    "cut short": batch(b"value")[:-1],
    "header only": batch(b"value")[:61],
    "three bytes": b"abc",
    "no body": seal(read_header(batch(b"value")), b""),
    "length too small": poked(LENGTH, ">i", 10, reseal=False),
    "length negative": poked(LENGTH, ">i", -1, reseal=False),
    "length beyond": poked(LENGTH, ">i", 10_000, reseal=False),
    "count too high": poked(COUNT, ">i", 2),
    "count zero": poked(COUNT, ">i", 0),
    "count negative": poked(COUNT, ">i", -1),
    "count too low": poked(COUNT, ">i", 1, count=2),
    "last offset too high": poked(LAST_OFFSET_DELTA, ">i", 5),
    "last offset negative": poked(LAST_OFFSET_DELTA, ">i", -1),
    "max timestamp lies": poked(MAX_TIMESTAMP, ">q", T + 77),
    "base offset set": poked(0, ">q", 55, reseal=False),
    "leader epoch set": poked(LEADER_EPOCH, ">i", 9, reseal=False),
    "producer id without sequence": poked(PRODUCER_ID, ">q", 12345),
    "sequence without producer": poked(BASE_SEQUENCE, ">i", 5),
    "epoch without producer": poked(PRODUCER_EPOCH, ">h", 5),
    "control": batch(b"value", control=True, producer_id=1, producer_epoch=0, base_sequence=0),
    "transactional without an id": batch(b"v", transactional=True, producer_id=1, producer_epoch=0, base_sequence=0),
    "too large": batch(b"x" * 1_100_000),
    "far future": batch(b"value", timestamp=int(time.time() * 1000) + 10**9),
    "no timestamp": batch(b"value", timestamp=-1),
}


# What Kafka and we decide differently, each for a reason, as (batch, Kafka's error, ours).
DIFFERENT = {
    # Kafka unpacks every batch that it takes. We look at the header; a reader names a body that contradicts it.
    "claims gzip": (poked(ATTRIBUTES, ">h", 1), -1, 0),
    "garbage body": (seal(read_header(batch(b"value")), b"\xff" * 20), -1, 0),
    "body too long": (seal(read_header(batch(b"value")), bytes(batch(b"value")[61:]) + b"\0\0"), 87, 0),
    # An unknown codec has an error code of its own; Kafka fails without one.
    "codec 5": (poked(ATTRIBUTES, ">h", 5), -1, 76),
    # Kafka clears the bit; a producer that sets it is mistaken about something.
    "claims append time": (poked(ATTRIBUTES, ">h", 8), 0, 32),
}


@pytest.mark.parametrize("case", DIFFERENT)
def test_what_we_decide_differently(sides: Sides, case: str) -> None:
    topic = f"different-{case.replace(' ', '-')}"
    sides.create(topic)
    data, kafka, ours = DIFFERENT[case]
    for side, expected in ((sides.kafka, kafka), (sides.ours, ours)):
        answer = side.ask("Produce", 9, **produce(data, topic))
        assert answer["responses"][0]["partition_responses"][0]["error_code"] == expected, side


def without_start(answer: Any) -> Any:
    """Where the log starts is told for some refusals of records and not for others, to nobody's use."""
    for topic in answer["responses"]:
        for row in topic["partition_responses"]:
            if row["error_code"] == INVALID_RECORD:
                row["log_start_offset"] = "any"
    return answer


@pytest.mark.parametrize("version", [7, 13])
@pytest.mark.parametrize("case", BAD)
def test_batches_that_are_wrong_or_odd(sides: Sides, case: str, version: int) -> None:
    topic = f"bad-{version}-{case.replace(' ', '-')}"
    sides.create(topic)
    sides.agree(lambda side: without_start(side.ask("Produce", version, **produce(BAD[case], topic))))
    sides.same("ListOffsets", 5, **latest(topic))


def latest(topic: str) -> dict[str, Any]:
    return {"replica_id": -1, "topics": [{"name": topic, "partitions": [{"partition_index": 0, "timestamp": -1}]}]}


@pytest.mark.parametrize("version", range(3, 14))
def test_a_good_batch_in_every_version(sides: Sides, version: int) -> None:
    topic = f"good-{version}"
    sides.create(topic)
    for _ in range(2):
        sides.same("Produce", version, **produce(batch(b"value"), topic))
    sides.same("Produce", version, **produce(batch(b"value"), topic, acks=1))
    for acks in (2, -2):
        sides.same("Produce", version, **produce(batch(b"value"), topic, acks=acks))


@pytest.mark.parametrize("version", [8, 12, 13])
def test_topics_and_partitions_that_are_not_there(sides: Sides, version: int) -> None:
    topic = f"somewhere-{version}"
    sides.create(topic)
    for index in (1, -1, 99):
        sides.same("Produce", version, **produce(batch(b"value"), topic, index))
    nowhere = {"name": "nowhere", "topic_id": bytes(range(16))}
    row = {"index": 0, "records": bytes(batch(b"value"))}
    sides.same("Produce", version, acks=-1, timeout_ms=1000, topic_data=[nowhere | {"partition_data": [row]}])


def test_a_transactional_id_without_transactional_batches(sides: Sides) -> None:
    sides.create("not-transactional")
    sides.same("Produce", 9, **produce(batch(b"value"), "not-transactional", transactional_id="me"))


def test_append_time(sides: Sides) -> None:
    sides.create("append-time", message_timestamp_type="LogAppendTime")
    answer = sides.same("Produce", 9, **produce(batch(b"value"), "append-time"))
    (row,) = answer["responses"][0]["partition_responses"]
    assert row["log_append_time_ms"] == "(invented)"


def test_a_compacted_topic_wants_keys(sides: Sides) -> None:
    sides.create("compacted", cleanup_policy="compact")
    for data in (batch(b"value", key=None), batch(b"value", key=b""), batch(b"one", b"two", key=None)):
        sides.agree(lambda side, data=data: without_start(side.ask("Produce", 9, **produce(data, "compacted"))))


def test_limits_of_a_topic(sides: Sides) -> None:
    sides.create("small", max_message_bytes="100")
    for size in (10, 200):
        sides.same("Produce", 9, **produce(batch(b"x" * size), "small"))
    sides.create("recent", message_timestamp_before_max_ms="1000")
    sides.same("Produce", 9, **produce(batch(b"one", b"two"), "recent"))


def test_sequences(sides: Sides) -> None:
    sides.create("sequences")

    def work(side: Side) -> list[Any]:
        made = side.ask_raw("InitProducerId", 4, transactional_id=None, transaction_timeout_ms=1000).message
        said = []
        for epoch, sequence in (
            (0, 5), (0, 0), (0, 0), (0, 1), (0, 3), (0, 1), (0, 0), (0, 2), (1, 7), (1, 0), (0, 3), (1, 1), (-1, 2),
        ):  # fmt: skip
            identity = {"producer_id": made.producer_id, "producer_epoch": epoch, "base_sequence": sequence}
            said.append((epoch, sequence, side.ask("Produce", 9, **produce(batch(b"v", **identity), "sequences"))))
        return [*said, side.ask("DescribeProducers", 0, topics=[{"name": "sequences", "partition_indexes": [0, 1]}])]

    sides.agree(work)


def test_sequences_that_wrap(sides: Sides) -> None:
    sides.create("wrapping")
    largest = 2**31 - 1

    def work(side: Side) -> list[Any]:
        made = side.ask_raw("InitProducerId", 4, transactional_id=None, transaction_timeout_ms=1000).message
        said = []
        for sequence, count in ((largest - 1, 3), (1, 1), (0, 1), (0, 2), (2, 1)):
            identity = {"producer_id": made.producer_id, "producer_epoch": 0, "base_sequence": sequence}
            data = batch(*[b"v"] * count, **identity)
            said.append((sequence, side.ask("Produce", 9, **produce(data, "wrapping"))))
        return said

    sides.agree(work)


def test_an_internal_topic_is_not_for_clients(sides: Sides) -> None:
    sides.same("FindCoordinator", 4, key_type=0, coordinator_keys=["anyone"])
    row = {"index": 0, "records": bytes(batch(b"value"))}
    topic = {"name": "__consumer_offsets", "partition_data": [row]}
    sides.same("Produce", 9, acks=-1, timeout_ms=1000, topic_data=[topic])
