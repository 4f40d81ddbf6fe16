"""Snapshots on the disk: what the metadata was at an offset, in Kafka's format and under Kafka's names.

A snapshot is written under a name of its own and renamed when it is whole and synced, so whatever has the final name is
complete.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from penstock.core.base.ports import (
    Append,
    Buffer,
    Entry,
    File,
    ListDir,
    Pause,
    Read,
    Rename,
    Size,
    Steps,
    Truncate,
    Unlink,
)
from penstock.core.log.durable import sync_file, sync_folder, write_anew
from penstock.core.log.scan import read_chunk
from penstock.core.metadata.fold import Fold
from penstock.core.metadata.framing import decode_record, encode_record
from penstock.core.metadata.image import Image
from penstock.core.metadata.levels import level_of
from penstock.core.metadata.snapshot import image_records
from penstock.core.node.quorum.damage import MetadataDamage
from penstock.core.raft.checkpoint import FOUNDING, founding_snapshot, snapshot_foot
from penstock.core.raft.ids import Snapshot, SnapshotId
from penstock.core.raft.voters import VoterSet
from penstock.core.records import checksum
from penstock.core.records.batch import BatchHeader, iterate_headers, read_header
from penstock.core.records.build import build_batch
from penstock.core.records.control import ControlType, decode_key
from penstock.core.records.errors import CorruptBatch
from penstock.core.records.record import iterate

RECORDS_PER_BATCH_MAX: Final = 500
"""Records that are encoded before others get their turn: a few milliseconds of work."""

_NAME: Final = re.compile(r"(\d{20})-(\d{10})\.checkpoint", re.ASCII)
PART_SUFFIX: Final = ".part"
_PART: Final = f".checkpoint{PART_SUFFIX}"
_DAMAGED: Final = ".damaged"


class Loaded(NamedTuple):
    """What a snapshot holds: the image, and the control batches, which are the quorum's own."""

    image: Image
    controls: bytes


def file_name(snapshot_id: SnapshotId) -> str:
    return f"{snapshot_id.end_offset:020d}-{snapshot_id.epoch:010d}.checkpoint"


class SnapshotFiles:
    """The snapshots in the metadata log's folder."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def find(self) -> Steps[list[Snapshot]]:
        """Every complete snapshot, oldest first."""
        entries: list[Entry] = yield ListDir(self._folder)
        matches = [(match, entry.size) for entry in entries if (match := _NAME.fullmatch(entry.name))]
        return sorted(Snapshot(SnapshotId(int(match[1]), int(match[2])), size) for match, size in matches)

    def tidy(self) -> Steps[None]:
        """Remove what the last run did not complete."""
        entries: list[Entry] = yield ListDir(self._folder)
        for entry in entries:
            if entry.name.endswith(_PART):
                yield Unlink(File(f"{self._folder}/{entry.name}"))

    # Writing

    def write(self, snapshot_id: SnapshotId, head: Buffer, image: Image, now_ms: int) -> Steps[Snapshot]:
        """Keep an image, some records per turn. What is written of it counts once all of it lasts."""
        file = self._part(snapshot_id)
        yield from write_anew(file, bytes(head))
        size_bytes, offset = len(head), read_header(head).next_offset
        for values in _in_batches(image):
            records = [(None, value, (), now_ms) for value in values]
            batch = build_batch(records, base_offset=offset, leader_epoch=snapshot_id.epoch)
            yield Append(file, batch)
            size_bytes, offset = size_bytes + len(batch), offset + len(values)
            yield Pause()
        foot = snapshot_foot(snapshot_id, offset, now_ms)
        yield Append(file, foot)
        yield from self._complete(file, snapshot_id)
        return Snapshot(snapshot_id, size_bytes + len(foot))

    def found(self, voters: VoterSet, now_ms: int) -> Steps[None]:
        """Keep the snapshot with which a cluster begins."""
        file = self._part(FOUNDING)
        yield from write_anew(file, founding_snapshot(voters, now_ms))
        yield from self._complete(file, FOUNDING)

    def write_chunk(self, snapshot_id: SnapshotId, position: int, data: Buffer) -> Steps[None]:
        """Take a piece of a snapshot that comes from elsewhere; the first one begins it anew. One that was written in
        part, because the disk was full, may come again."""
        file = self._part(snapshot_id)
        if position == 0:
            yield from write_anew(file, bytes(data))
            return
        if (yield Size(file)) != position:
            yield Truncate(file, position)
        yield Append(file, data)

    def complete(self, snapshot: Snapshot) -> Steps[Loaded]:
        """All pieces are there: if they make a whole, it lasts from now on."""
        file = self._part(snapshot.id)
        loaded = yield from _load(file, snapshot)
        yield from self._complete(file, snapshot.id)
        return loaded

    def _complete(self, file: File, snapshot_id: SnapshotId) -> Steps[None]:
        yield from sync_file(file)
        yield Rename(file, self._path(snapshot_id))
        yield from sync_folder(self._folder)

    # Reading

    def load(self, snapshot: Snapshot) -> Steps[Loaded]:
        return (yield from _load(File(self._path(snapshot.id)), snapshot))

    def read(self, snapshot_id: SnapshotId, position: int, bytes_max: int) -> Steps[bytes]:
        """Some bytes of a snapshot, for whoever fetches it."""
        data: bytes = yield Read(File(self._path(snapshot_id)), position, bytes_max)
        return data

    def drop_before(self, snapshot_id: SnapshotId) -> Steps[None]:
        """Remove the snapshots that are older than one."""
        for old in (yield from self.find()):
            if old.id < snapshot_id:
                yield Unlink(File(self._path(old.id)))

    def set_aside(self, snapshot_id: SnapshotId) -> Steps[None]:
        """Keep one that is damaged under another name, where nobody takes it for a snapshot."""
        path = self._path(snapshot_id)
        yield Rename(File(path), f"{path}{_DAMAGED}")
        yield from sync_folder(self._folder)

    def _path(self, snapshot_id: SnapshotId) -> str:
        return f"{self._folder}/{file_name(snapshot_id)}"

    def _part(self, snapshot_id: SnapshotId) -> File:
        return File(f"{self._path(snapshot_id)}{PART_SUFFIX}")


def _in_batches(image: Image) -> Iterator[Sequence[bytes]]:
    values: list[bytes] = []
    level = level_of(image.features)
    for record in image_records(image):
        values.append(encode_record(record, level))
        if len(values) == RECORDS_PER_BATCH_MAX:
            yield values
            values = []
    if values:
        yield values


def _load(file: File, snapshot: Snapshot) -> Steps[Loaded]:
    """Fold a snapshot from its first batch to its foot."""
    fold = Fold(Image(), snapshot.id.end_offset - 1)
    controls, position, is_whole = bytearray(), 0, False
    while position < snapshot.size_bytes:
        data = yield from read_chunk(file, position, snapshot.size_bytes)
        before = position
        for at, header in _whole_batches(data):
            position += header.size
            if header.is_control:
                controls += data[at : at + header.size]
                is_whole = _is_foot(data, at)
            else:
                _fold_batch(fold, data, at)
        if position == before:
            raise _damaged(file, position)
        yield Pause()
    if not is_whole and snapshot.id.end_offset:
        raise _damaged(file, position)
    return Loaded(fold.finish(), bytes(controls))


def _whole_batches(data: bytes) -> Iterator[tuple[int, BatchHeader]]:
    """The batches up to the first that is not whole."""
    try:
        for at, header in iterate_headers(data, partial_tail=True):
            if not checksum.is_valid(data, at, header):
                return
            yield at, header
    except CorruptBatch:
        return


def _fold_batch(fold: Fold, data: bytes, at: int) -> None:
    for record in iterate(data, at):
        fold.apply(decode_record(record.value or b""))


def _is_foot(data: bytes, at: int) -> bool:
    return any(decode_key(record.key) is ControlType.SNAPSHOT_FOOTER for record in iterate(data, at))


def _damaged(file: File, position: int) -> MetadataDamage:
    return MetadataDamage(f"the snapshot {file.path} at byte {position}")
