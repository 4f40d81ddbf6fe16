"""What must be true after a run, judged from outside: by a client that reads, and by the bytes of the replicas' files.

Nothing of the broker is imported here, because a mistake that both share would never be seen.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

from tests.chaos.load import Ack

_IDLE_SECONDS_MAX = 10.0
# The offset of a batch's first record and the number of bytes after this head.
_HEAD = struct.Struct(">qi")
# Where a batch says how far its last record's offset is from its first one's.
_LAST_OFFSET_DELTA = struct.Struct(">i")
_LAST_OFFSET_DELTA_AT = 23
_BATCH_BYTES_MIN = 61


class Found(NamedTuple):
    """One record as a reader sees it."""

    partition: int
    offset: int
    value: bytes


class Batch(NamedTuple):
    """One batch as it lies in a file."""

    base_offset: int
    last_offset: int
    data: bytes


def read_everything(bootstrap: str, topic: str, partitions: int) -> list[Found]:
    """All records of a topic, from the first to the end that the cluster tells."""
    consumer = Consumer(
        {"bootstrap.servers": bootstrap, "group.id": "checker", "enable.auto.commit": False, "log_level": 0}
    )
    try:
        ends = [consumer.get_watermark_offsets(TopicPartition(topic, each), 30)[1] for each in range(partitions)]
        consumer.assign([TopicPartition(topic, each, OFFSET_BEGINNING) for each in range(partitions)])
        return list(_read_until(consumer, ends))
    finally:
        consumer.close()


def _read_until(consumer: Consumer, ends: Sequence[int]) -> Iterator[Found]:
    positions = [0] * len(ends)
    while any(position < end for position, end in zip(positions, ends, strict=True)):
        first = consumer.poll(_IDLE_SECONDS_MAX)
        assert first is not None, f"nothing came in {_IDLE_SECONDS_MAX} s at {positions} of {ends}"
        for message in [first, *consumer.consume(1000, 0)]:
            assert message.error() is None, message.error()
            partition, offset, value = message.partition(), message.offset(), message.value()
            assert partition is not None, "what is read has a partition"
            assert offset is not None, "what is read has an offset"
            assert isinstance(value, bytes), f"a record without a value at {partition}:{offset}"
            assert offset >= positions[partition], f"partition {partition} went back to {offset}"
            positions[partition] = offset + 1
            yield Found(partition, offset, value)


def complaints_about_records(acks: Iterable[Ack], found: Sequence[Found]) -> list[str]:
    """Acknowledged is readable where it was said to be, nothing is there twice, and each key's records are in order."""
    places = {(each.partition, each.offset): each.value for each in found}
    lost = [ack for ack in acks if places.get((ack.partition, ack.offset)) != ack.value]
    return [
        *(f"lost: {_head(ack.value)} was acknowledged at {ack.partition}:{ack.offset}" for ack in lost),
        *_complaints_about_order(found),
    ]


def _complaints_about_order(found: Sequence[Found]) -> Iterator[str]:
    last: dict[tuple[bytes, bytes], int] = {}
    for each in sorted(found, key=lambda each: (each.partition, each.offset)):
        producer, key, number_text, _ = each.value.split(b":", 3)
        number = int(number_text)
        before = last.get((producer, key), 0)
        if number <= before:
            word = "twice" if number == before else "out of order"
            yield f"{word}: {_head(each.value)} after {before} at {each.partition}:{each.offset}"
        elif number > before + 1:
            yield f"hole: {_head(each.value)} after {before} at {each.partition}:{each.offset}"
        last[producer, key] = max(number, before)


def complaints_about_replicas(folders: Sequence[Path], replicas: int) -> list[str]:
    """Every replica holds the same bytes from the first batch to the last."""
    if len(folders) != replicas:
        return [f"{len(folders)} replicas instead of {replicas}: {[str(folder) for folder in folders]}"]
    first, *others = (list(read_log(folder)) for folder in folders)
    complaints = [
        _difference(folders[0], first, folder, other) for folder, other in zip(folders[1:], others, strict=True)
    ]
    return [*filter(None, complaints), *_complaints_about_offsets(folders[0], first)]


def _difference(folder: Path, batches: list[Batch], other_folder: Path, others: list[Batch]) -> str | None:
    for one, other in zip(batches, others, strict=False):
        if one != other:
            there = f"{other.base_offset}..{other.last_offset}"
            return f"differ: {folder} has {one.base_offset}..{one.last_offset} where {other_folder} has {there}"
    if len(batches) != len(others):
        return f"differ: {folder} has {len(batches)} batches, {other_folder} has {len(others)}"
    return None


def _complaints_about_offsets(folder: Path, batches: list[Batch]) -> list[str]:
    return [
        f"offsets: {folder} goes from {before.last_offset} to {after.base_offset}"
        for before, after in pairwise(batches)
        if after.base_offset != before.last_offset + 1
    ]


def read_log(folder: Path) -> Iterator[Batch]:
    """The batches of a partition's segments, oldest first; where a segment ends is each replica's own business."""
    for segment in sorted(folder.glob("*.log")):
        data = segment.read_bytes()
        at = 0
        while at < len(data):
            batch = _batch_at(data, at)
            yield batch
            at += len(batch.data)


def _batch_at(data: bytes, at: int) -> Batch:
    """What is no whole batch reaches to the end of the file and has offsets that fit nowhere."""
    if at + _BATCH_BYTES_MIN > len(data):
        return Batch(-1, -1, data[at:])
    base_offset, length = _HEAD.unpack_from(data, at)
    end = at + _HEAD.size + length
    if end < at + _BATCH_BYTES_MIN or end > len(data):
        return Batch(-1, -1, data[at:])
    delta = _LAST_OFFSET_DELTA.unpack_from(data, at + _LAST_OFFSET_DELTA_AT)[0]
    return Batch(base_offset, base_offset + delta, data[at:end])


def _head(value: bytes) -> str:
    return value[:40].rstrip(b".").decode(errors="replace")
