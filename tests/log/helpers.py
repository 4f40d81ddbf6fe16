"""Logs for tests: small settings, batches by the handful, and everything a log holds as plain values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penstock.core.base.ports import File, Read, Slice
from penstock.core.base.steps import Tasks
from penstock.core.log.directory import LogDirectory
from penstock.core.log.index_file import IndexCache
from penstock.core.log.log import Log
from penstock.core.log.settings import LogContext
from penstock.core.records.batch import iterate_headers, read_header
from penstock.core.records.build import build_batch
from penstock.core.records.record import Record, iterate
from tests.log.memory_files import Disk, MemoryFiles, drive

NOW_MS = 1_700_000_000_000
ROOT = "/data"
TOPIC_ID = bytes(range(16))


@dataclass(frozen=True, slots=True)
class Settings:
    """Topic settings small enough that a few batches fill a segment."""

    segment_bytes: int = 1 << 30
    segment_ms: int = 7 * 86_400_000
    segment_jitter_ms: int = 0
    segment_index_bytes: int = 10 << 20
    index_interval_bytes: int = 4096
    cleanup_policy: frozenset[str] = frozenset({"delete"})
    retention_ms: int = 7 * 86_400_000
    retention_bytes: int = -1
    delete_retention_ms: int = 86_400_000
    min_compaction_lag_ms: int = 0
    max_compaction_lag_ms: int = (1 << 63) - 1
    min_cleanable_dirty_ratio: float = 0.5
    sealed_compression_type: str = "none"
    sealed_compression_level: int | None = None
    file_delete_delay_ms: int = 60_000
    flush_messages: int = (1 << 63) - 1
    flush_ms: int = (1 << 63) - 1


SMALL = Settings(segment_bytes=1000, index_interval_bytes=150)


def context_of(files: MemoryFiles) -> LogContext:
    return LogContext(files, Tasks(files), IndexCache())


def new_log(files: MemoryFiles, settings: Settings = SMALL, topic: str = "orders") -> Log:
    directory = LogDirectory(ROOT, context_of(files))
    drive(files, directory.load(lambda _: settings, NOW_MS))
    log: Log = drive(files, directory.create(topic, TOPIC_ID, 0, settings, NOW_MS))
    return log


def load(files: MemoryFiles, settings: Settings = SMALL, now_ms: int = NOW_MS) -> LogDirectory:
    directory = LogDirectory(ROOT, context_of(files))
    drive(files, directory.load(lambda _: settings, now_ms))
    return directory


def reopen(files: MemoryFiles, settings: Settings = SMALL, topic: str = "orders", now_ms: int = NOW_MS) -> Log:
    """What the next process finds: the same disk, nothing else."""
    return load(MemoryFiles(files.disk), settings, now_ms).logs[topic, 0]


def remove(files: MemoryFiles, directory: LogDirectory, log: Log) -> None:
    """Take a log away, and wait until its files are gone."""
    directory.discard(log)
    files.finish_all()


def batch_of(*values: bytes | None, key: bytes | None = None, timestamp: int = NOW_MS, **fields: Any) -> bytearray:
    """One batch with a record per value."""
    return build_batch([(key, value, (), timestamp) for value in values], **fields)


def append(log: Log, batch: bytearray, epoch: int = 0, now_ms: int = NOW_MS) -> int:
    return log.append(batch, read_header(batch), epoch, now_ms)


def fill(log: Log, count: int, size: int = 100, timestamp: int = NOW_MS, epoch: int = 0) -> None:
    """Append one-record batches whose value says their offset."""
    for _ in range(count):
        offset = log.end_offset
        append(log, batch_of(b"%d" % offset + b"." * size, timestamp=timestamp + offset), epoch)


def offsets_of(files: MemoryFiles, log: Log) -> list[int]:
    return [record.offset for record in records_of(files, log)]


def records_of(files: MemoryFiles, log: Log, start: int | None = None, max_bytes: int = 1 << 20) -> list[Record]:
    """Every record from an offset on, read as a consumer does, slice by slice."""
    offset = log.start_offset if start is None else start
    found: list[Record] = []
    while offset < log.written_offset:
        piece: Slice | None = drive(files, log.read(offset, max_bytes, log.written_offset, True))
        if piece is None:
            break
        data = read_slice(files, piece)
        last = offset
        for position, header in iterate_headers(data, partial_tail=True):
            found += [record for record in iterate(data, position) if record.offset >= offset]
            last = header.next_offset
        assert last > offset, "a read gives nothing new, and would for ever"
        offset = last
    return found


def read_slice(files: MemoryFiles, piece: Slice) -> bytes:
    data = files._do(Read(File(piece.file.path), piece.position, piece.length))
    assert isinstance(data, bytes)
    return data


def make_disk() -> Disk:
    return Disk()
