"""Producer snapshots: the state of all producers at an offset, in Kafka's `.snapshot` format, checksummed."""

from __future__ import annotations

from struct import Struct
from struct import error as StructError
from typing import Final

from penstock.core.base.crc32c import crc32c
from penstock.core.base.ports import File, FileFailure, Read, Size, Steps, Unlink
from penstock.core.log.durable import sync_file, write_anew
from penstock.core.log.names import SNAPSHOT, path_of
from penstock.core.log.producers import Mark, Producer, Producers

_VERSION: Final = 1
_HEAD: Final = Struct(">hIi")
_CRC_END: Final = 6
# Producer id, epoch, last sequence, last offset, offset delta, timestamp, coordinator epoch, open transaction's offset.
_ENTRY: Final = Struct(">qhiqiqiq")


class CorruptSnapshot(Exception):
    """A snapshot that cannot be trusted; the log itself still knows."""


def encode(producers: Producers) -> bytes:
    entries = bytearray(_HEAD.pack(_VERSION, 0, len(producers)))
    for producer_id, producer in producers.items():
        entries += _ENTRY.pack(
            producer_id,
            producer.epoch,
            producer.last_sequence,
            producer.last_offset,
            producer.marks[-1].offset_delta if producer.marks else 0,
            producer.last_timestamp,
            producer.coordinator_epoch,
            producer.transaction_offset,
        )
    _HEAD.pack_into(entries, 0, _VERSION, crc32c(memoryview(entries)[_CRC_END:]), len(producers))
    return bytes(entries)


def decode(data: bytes) -> Producers:
    try:
        version, crc, count = _HEAD.unpack_from(data)
    except StructError:
        raise CorruptSnapshot("too short") from None
    if version != _VERSION:
        raise CorruptSnapshot(f"version {version}")
    if crc != crc32c(memoryview(data)[_CRC_END:]) or len(data) != _HEAD.size + count * _ENTRY.size:
        raise CorruptSnapshot("the checksum or the size is wrong")
    producers = Producers()
    for fields in _ENTRY.iter_unpack(memoryview(data)[_HEAD.size :]):
        producer_id, epoch, sequence, offset, delta, timestamp, coordinator_epoch, transaction_offset = fields
        producer = Producer(epoch)
        producer.coordinator_epoch = coordinator_epoch
        producer.last_timestamp = timestamp
        producer.transaction_offset = max(transaction_offset, -1)
        if offset >= 0:
            producer.marks.append(Mark(sequence, offset, delta, timestamp))
        producers.load(producer_id, producer)
    producers.sort_transactions()
    return producers


def write(folder: str, offset: int, data: bytes) -> Steps[None]:
    """Store a snapshot for good, but for its name. A torn one is found out by its checksum."""
    file = File(path_of(folder, offset, SNAPSHOT))
    yield from write_anew(file, data)
    yield from sync_file(file)


def read(folder: str, offset: int) -> Steps[Producers | None]:
    """The state at an offset, or None where its snapshot is missing or damaged."""
    file = File(path_of(folder, offset, SNAPSHOT))
    size: int | None = yield Size(file)
    if size is None:
        return None
    try:
        data: bytes = yield Read(file, 0, size)
        return decode(data)
    except (CorruptSnapshot, FileFailure):
        return None


def remove(folder: str, offset: int) -> Steps[None]:
    yield Unlink(File(path_of(folder, offset, SNAPSHOT)))
