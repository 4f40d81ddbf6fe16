"""From the metadata log's folder to a replica at work: the vote, the newest snapshot, the log above it, the voters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from penstock.core.base.ports import Entry, ListDir, MakeDir, Steps
from penstock.core.base.settings import TopicSettings
from penstock.core.log.checkpoints import read_file
from penstock.core.log.durable import sync_folder
from penstock.core.log.log import Log
from penstock.core.log.recovery import Standing, open_log
from penstock.core.log.settings import LogContext
from penstock.core.metadata.image import Image
from penstock.core.metadata.storage import META_FILE, Meta, StorageError, decode_meta
from penstock.core.node.folding import fold_log
from penstock.core.node.quorum import state_file
from penstock.core.node.quorum.identity import local_of, raft_settings, voters_of
from penstock.core.node.quorum.quorum import Found, Quorum
from penstock.core.node.quorum.snapshot_files import PART_SUFFIX, Loaded, SnapshotFiles, file_name
from penstock.core.raft.checkpoint import FOUNDING
from penstock.core.raft.history import VoterHistory
from penstock.core.raft.ids import TOPIC, Snapshot, SnapshotId
from penstock.core.raft.ports import RaftLog
from penstock.core.raft.raft import Raft
from penstock.core.raft.voters import VoterSet
from penstock.core.records.batch import BatchHeader

if TYPE_CHECKING:
    from penstock.core.node.node import Node

_NOTHING: Final = Loaded(Image(), b"")


def found_quorum(folder: str, voters: VoterSet, now_ms: int) -> Steps[None]:
    """Format a folder of the metadata log: its first snapshot says who votes."""
    yield MakeDir(folder)
    yield from SnapshotFiles(folder).found(voters, now_ms)
    yield from sync_folder(folder.rpartition("/")[0])


def is_only_founded(folder: str) -> Steps[bool]:
    """Whether a folder of the metadata log has nothing in it but the beginning that `found_quorum` makes."""
    entries: list[Entry] = yield ListDir(folder)
    return all(entry.name.removesuffix(PART_SUFFIX) == file_name(FOUNDING) for entry in entries)


def open_quorum(node: Node, context: LogContext) -> Steps[Quorum]:
    """The quorum of this node. Others are at work when this ends, and hear what is committed; the only voter has its
    image already, and begins when the node is ready for it."""
    folder = f"{node.settings.metadata_log_dir}/{TOPIC}-0"
    yield MakeDir(folder)
    yield from sync_folder(node.settings.metadata_log_dir)
    saved = yield from state_file.read(folder)
    files = SnapshotFiles(folder)
    yield from files.tidy()
    snapshots = yield from files.find()
    log = yield from _open_log(node, folder, context)
    loaded = (yield from files.load(snapshots[-1])) if snapshots else _NOTHING
    if snapshots:
        yield from _fit(log, snapshots, node.now_ms)
    elif log.start_offset:
        raise StorageError(f"{folder} has lost its snapshots: the log begins at {log.start_offset}; restore the folder")
    history = yield from _history(node, log, snapshots, loaded)
    meta = yield from _owner_of(node)
    local, dice = local_of(node, meta), lambda bound: int.from_bytes(node.entropy.bytes(4), "big") % bound

    def make_raft(raft_log: RaftLog, now_ms: int) -> Raft:
        settings = raft_settings(node.settings)
        return Raft(local, settings, raft_log, history, dice, now_ms, snapshots=snapshots, saved=saved)

    newest = snapshots[-1].id if snapshots else SnapshotId(0, 0)
    quorum = Quorum(node, log, files, Found(local.key, newest, loaded.image, history, make_raft))
    if quorum.is_alone:
        yield from quorum.load()
    else:
        quorum.begin()
    return quorum


def _owner_of(node: Node) -> Steps[Meta]:
    """Whose replica this is: a voter is known by the folder of the metadata, which may be one of its own."""
    root = node.settings.metadata_log_dir
    data = None if root == node.settings.log_dir else (yield from read_file(f"{root}/{META_FILE}"))
    return node.meta if data is None else decode_meta(data)


def _open_log(node: Node, folder: str, context: LogContext) -> Steps[Log]:
    """Snapshots decide what of the log may go, not its age or size."""
    given = node.settings
    small_bytes = given["internal.metadata.log.segment.bytes"]
    settings = TopicSettings(
        given,
        {
            "segment.bytes": str(given["metadata.log.segment.bytes"]),
            **({} if small_bytes is None else {"internal.segment.bytes": str(small_bytes)}),
            "segment.ms": str(given["metadata.log.segment.ms"]),
            "segment.jitter.ms": "0",
            "retention.ms": "-1",
            "retention.bytes": "-1",
            "cleanup.policy": "delete",
        },
    )
    # Everything was synced before anybody heard of it, so looking at all of it again costs little and shows all.
    return (yield from open_log(TOPIC, 0, folder, settings, context, Standing(False, 0, 0, None), node.now_ms))


def _fit(log: Log, snapshots: list[Snapshot], now_ms: int) -> Steps[None]:
    """Let the log begin where the oldest snapshot ends. One that came from the leader may have been kept when a crash
    prevented that it took the log's place."""
    oldest, newest = snapshots[0].id, snapshots[-1].id
    is_behind = log.end_offset < newest.end_offset
    at = newest.end_offset - 1
    if is_behind or (log.start_offset <= at and log.epoch_at(at) != newest.epoch):
        yield from log.restart_at(newest.end_offset, now_ms)
    elif log.start_offset > newest.end_offset:
        raise StorageError(
            f"{log.dir} has lost a snapshot: the newest one ends at {newest.end_offset}, and the log begins at "
            f"{log.start_offset}; restore the folder"
        )
    elif log.start_offset < oldest.end_offset:
        yield from log.delete_records(oldest.end_offset)


def _history(node: Node, log: Log, snapshots: list[Snapshot], loaded: Loaded) -> Steps[VoterHistory]:
    """What the newest snapshot and the log above it say of the voters."""
    history = VoterHistory(voters_of(node.settings))
    end_offset = snapshots[-1].id.end_offset if snapshots else 0
    history.load_snapshot(end_offset, loaded.controls)

    def take(data: bytes, position: int, header: BatchHeader) -> None:
        if header.is_control:
            history.fold(data[position : position + header.size])

    yield from fold_log(log, take, max(end_offset, log.start_offset))
    return history
