"""A log dir of Kafka's that nobody uses: whose it is, what is in it, what its metadata log says. It is only read."""

from __future__ import annotations

import fcntl
import mmap
import os
from collections.abc import Iterator
from typing import NamedTuple

from penstock.cli.formatting import read_meta
from penstock.cli.talk import Refused
from penstock.core.base.ports import Buffer
from penstock.core.log.checkpoints import Offsets, read_offsets
from penstock.core.log.names import (
    CLEAN_MARK_FILE,
    CLEANER_FILE,
    HIGH_WATERMARKS_FILE,
    LOG,
    LOG_STARTS_FILE,
    METADATA_DIR,
    METADATA_TOPIC,
    PARTITION_FILE,
    RECOVERY_POINTS_FILE,
    parse_file,
    parse_folder,
)
from penstock.core.log.partition_file import decode_topic_id
from penstock.core.metadata.features import METADATA_LEVEL, METADATA_LEVEL_MIN, METADATA_VERSION
from penstock.core.metadata.fold import fold
from penstock.core.metadata.framing import UnknownMetadata, decode_record
from penstock.core.metadata.image import Image
from penstock.core.node.quorum.snapshot_files import SnapshotFiles
from penstock.core.raft.ids import LogEnd
from penstock.core.records import checksum
from penstock.core.records.batch import HEADER_BYTES, BatchHeader, read_header
from penstock.core.records.record import iterate
from penstock.core.wire.schema import StoredRecord
from penstock.shell.blocking import run_blocking
from penstock.shell.lock import LOCK_FILE
from penstock.shell.sealed_folder import heads_in
from penstock.shell.sealed_mark import is_marked

CHECKPOINT_FILES = (RECOVERY_POINTS_FILE, LOG_STARTS_FILE, CLEANER_FILE, HIGH_WATERMARKS_FILE)
_TOO_NEW = "Penstock knows what Kafka 4.3 writes: update Penstock"

PartitionKey = tuple[str, int]


class KafkaFolder:
    """One log dir. From its making to `release` no Kafka can start in it, and none runs there."""

    def __init__(self, path: str) -> None:
        self.path = os.path.abspath(path)
        meta = read_meta(self.path) if os.path.isdir(self.path) else None
        if meta is None:
            raise Refused(f"{path} is not a log dir of Kafka's: it has no meta.properties", "name one of its log.dirs")
        if is_marked(self.path) and any(heads_in(self.path)):
            raise Refused(
                f"{path} is a folder of Penstock's, and encrypted",
                "write it plain first: penstock storage rekey --plain",
            )
        self.node_id, self.cluster_id = meta.node_id, meta.cluster_id
        self._lock = _hold(self.path)
        self.is_clean = os.path.exists(os.path.join(self.path, CLEAN_MARK_FILE))
        names = sorted(os.listdir(self.path))
        self.partitions = {key: name for name in names if (key := parse_folder(name)) and key[0] != METADATA_TOPIC}
        self.checkpoints: dict[str, Offsets] = {
            name: run_blocking(read_offsets(os.path.join(self.path, name))) for name in CHECKPOINT_FILES
        }

    def release(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def folder(self, key: PartitionKey) -> str:
        return os.path.join(self.path, self.partitions[key])

    def has(self, key: PartitionKey, topic_id: bytes) -> bool:
        """Whether a partition of this very topic is here: an older one of that name may have left its folder."""
        if key not in self.partitions:
            return False
        try:
            with open(os.path.join(self.folder(key), PARTITION_FILE), "rb") as file:
                return decode_topic_id(file.read()) == topic_id
        except FileNotFoundError:
            return False

    def metadata_folder(self) -> str | None:
        path = os.path.join(self.path, METADATA_DIR)
        return path if os.path.isdir(path) else None


def _hold(folder: str) -> int | None:
    """Share the lock that a running Kafka has for itself. Java's locks and ours are of different kinds: both count."""
    try:
        fd = os.open(os.path.join(folder, LOCK_FILE), os.O_RDONLY)
    except FileNotFoundError:
        return None
    try:
        fcntl.lockf(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        os.close(fd)
        raise Refused(
            f"{folder} is in use: a broker runs there", "stop it first; then nothing changes under us"
        ) from None
    return fd


class Metadata(NamedTuple):
    """What a metadata log says, and where it ends."""

    image: Image
    end: LogEnd


def newest_metadata(folders: list[KafkaFolder]) -> Metadata:
    """Of several controllers' logs the one that would win an election."""
    found = [read_metadata(path) for folder in folders if (path := folder.metadata_folder()) is not None]
    if not found:
        raise Refused(
            f"there is no {METADATA_DIR} in {', '.join(folder.path for folder in folders)}",
            "name the log dir of a controller as well (metadata.log.dir, else the first of log.dirs)",
        )
    newest = max(found, key=lambda each: each.end)
    level = newest.image.features.get(METADATA_VERSION, 0)
    if not METADATA_LEVEL_MIN <= level <= METADATA_LEVEL:
        raise Refused(
            f"the cluster's {METADATA_VERSION} is {level}: only {METADATA_LEVEL_MIN} to {METADATA_LEVEL} can be taken",
            _TOO_NEW if level > METADATA_LEVEL else "upgrade it with Kafka's own tools first",
        )
    return newest


def newest_image(log_dir: str) -> Image:
    """What the metadata log of one folder says."""
    return read_metadata(os.path.join(log_dir, METADATA_DIR)).image


def read_metadata(folder: str) -> Metadata:
    """The newest snapshot and the log above it. A tail that was torn by a crash was never acknowledged, and ends it."""
    files = SnapshotFiles(folder)
    try:
        snapshots = run_blocking(files.find())
        image = run_blocking(files.load(snapshots[-1])).image if snapshots else Image()
        end_offset, epoch = snapshots[-1].id if snapshots else (0, 0)
        records: list[StoredRecord] = []
        for data, position, header in _batches(folder, end_offset):
            end_offset, epoch = header.next_offset, header.leader_epoch
            if not header.is_control:
                records += [decode_record(record.value or b"") for record in iterate(data, position)]
    except UnknownMetadata as error:
        raise Refused(f"{folder} cannot be read: {error}", _TOO_NEW) from None
    return Metadata(fold(image, records, end_offset - 1)[0], LogEnd(epoch, end_offset))


def _batches(folder: str, since: int) -> Iterator[tuple[Buffer, int, BatchHeader]]:
    """Every good batch of a log from an offset on."""
    bases = sorted(name.offset for each in os.listdir(folder) if (name := parse_file(each)) and name[1:] == (LOG, ""))
    first = max((number for number, base in enumerate(bases) if base <= since), default=0)
    if bases and bases[first] > since:
        raise Refused(f"{folder} has lost its snapshots: the log begins at {bases[first]}", "restore the folder")
    expected = since
    for base in bases[first:]:
        for data, position, header in _good_batches(os.path.join(folder, f"{base:020d}{LOG}")):
            if header.base_offset > expected:
                return
            if header.base_offset == expected:
                expected = header.next_offset
                yield data, position, header


def _good_batches(path: str) -> Iterator[tuple[Buffer, int, BatchHeader]]:
    if not os.path.getsize(path):
        return
    with open(path, "rb") as file:
        data = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    position = 0
    while position + HEADER_BYTES <= len(data):
        header = read_header(data, position)
        is_whole = header.size >= HEADER_BYTES and position + header.size <= len(data)
        if not is_whole or not checksum.is_valid(data, position, header):
            return
        yield data, position, header
        position += header.size
