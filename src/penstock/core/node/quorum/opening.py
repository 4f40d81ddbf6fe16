"""From the metadata log's folder to a replica at work: the vote, the newest snapshot, the log above it, the voters."""

from __future__ import annotations

from dataclasses import replace as replace_fields
from functools import partial
from typing import Final, NamedTuple

from penstock.core.base.ports import Entry, ListDir, MakeDir, Steps
from penstock.core.base.settings import TopicSettings
from penstock.core.base.values import replaced
from penstock.core.log.checkpoints import read_file
from penstock.core.log.damage import Damage, DamagedLog
from penstock.core.log.durable import sync_folder
from penstock.core.log.log import Log
from penstock.core.log.recovery import CheckpointedState, open_log
from penstock.core.log.settings import LogContext
from penstock.core.metadata.image import Image
from penstock.core.metadata.storage import META_FILE, Meta, decode_meta
from penstock.core.node.folding import fold_log
from penstock.core.node.quorum import setting_aside, state_file, synced_note
from penstock.core.node.quorum.damage import MetadataDamage
from penstock.core.node.quorum.identity import bootstrap_of, listener_of, local_of, raft_settings, voters_of
from penstock.core.node.quorum.ports import QuorumHost
from penstock.core.node.quorum.quorum import Found, Quorum
from penstock.core.node.quorum.salvage import known_voters
from penstock.core.node.quorum.setting_aside import Loss
from penstock.core.node.quorum.snapshot_files import PART_SUFFIX, Loaded, SnapshotFiles, file_name
from penstock.core.node.quorum.synced_note import Noted
from penstock.core.raft.checkpoint import FOUNDING
from penstock.core.raft.election import ElectionState
from penstock.core.raft.history import VoterHistory
from penstock.core.raft.ids import TOPIC, Snapshot, SnapshotId, address
from penstock.core.raft.ports import RaftLog
from penstock.core.raft.raft import Raft
from penstock.core.raft.rebuilding import Rebuilding
from penstock.core.raft.voters import VoterSet
from penstock.core.records.batch import BatchHeader

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


class Opened(NamedTuple):
    """What a folder holds, when all of it is whole."""

    log: Log
    snapshots: list[Snapshot]
    image: Image
    history: VoterHistory
    saved: ElectionState | None
    noted_offset: int


def open_quorum(node: QuorumHost, context: LogContext) -> Steps[Quorum]:
    """The quorum of this node. Others are at work when this ends, and hear what is committed; the only voter has its
    image already, and begins when the node is ready for it."""
    folder = f"{node.settings.metadata_log_dir}/{TOPIC}-0"
    yield MakeDir(folder)
    yield from sync_folder(node.settings.metadata_log_dir)
    loss = yield from setting_aside.read(folder)
    if loss is not None and not loss.is_moved:
        loss = yield from _move(folder, loss)
    try:
        opened = yield from _open(node, folder, context)
    except MetadataDamage as damage:
        loss = yield from _give_up(node, folder, damage, loss)
        opened = yield from _open(node, folder, context)
    meta = yield from _owner_of(node)
    local, dice = local_of(node, meta), lambda bound: int.from_bytes(node.entropy.bytes(4), "big") % bound
    rebuilding = None if loss is None else Rebuilding(is_election_lost=loss.is_election_lost and local.can_vote)
    if loss is not None:
        local = replaced(local, bootstrap=(*local.bootstrap, *loss.destinations()))

    def make_raft(raft_log: RaftLog, now_ms: int) -> Raft:
        return Raft(
            local,
            raft_settings(node.settings),
            raft_log,
            opened.history,
            dice,
            now_ms,
            snapshots=opened.snapshots,
            saved=opened.saved,
            rebuilding=rebuilding,
        )

    newest = opened.snapshots[-1].id if opened.snapshots else SnapshotId(0, 0)
    found = Found(local.key, newest, opened.image, opened.history, make_raft, opened.noted_offset, loss)
    quorum = Quorum(node, opened.log, SnapshotFiles(folder), found)
    if quorum.is_alone:
        yield from quorum.load()
    else:
        quorum.begin()
    return quorum


def _open(node: QuorumHost, folder: str, context: LogContext) -> Steps[Opened]:
    """Read all that is there. Until everything has proved to be whole, nothing is changed but what a crash has torn."""
    saved = yield from state_file.read(folder)
    noted = yield from synced_note.read(folder)
    files = SnapshotFiles(folder)
    yield from files.tidy()
    snapshots = yield from files.find()
    log = yield from _open_log(node, folder, context, noted)
    loaded = yield from _newest_whole(node, files, snapshots, log)
    newest_offset = snapshots[-1].id.end_offset if snapshots else 0
    if max(log.end_offset, newest_offset) < noted.offset:
        raise MetadataDamage(f"{folder}: offsets {log.end_offset} to {noted.offset - 1} are missing")
    if noted.is_clean and log.end_offset != noted.offset:
        raise MetadataDamage(f"{folder}: the log ends at {log.end_offset}, and was closed at {noted.offset}")
    if saved is not None and log.end_offset > log.start_offset and log.epochs.latest > saved.epoch:
        raise MetadataDamage(
            f"{folder}: the log has records of epoch {log.epochs.latest}, and only {saved.epoch} was reached"
        )
    if log.start_offset > newest_offset:
        raise MetadataDamage(
            f"{folder}, which has lost its snapshots: the newest one ends at {newest_offset}, "
            f"and the log begins at {log.start_offset}"
        )
    must_restart = bool(snapshots) and _is_replaced(log, snapshots[-1].id)
    noted_offset = min(noted.offset, newest_offset) if must_restart else noted.offset
    # From now on a stop is no clean one, until it is.
    yield from synced_note.write(folder, Noted(noted_offset))
    if must_restart:
        yield from log.restart_at(newest_offset, node.now_ms)
    elif snapshots and log.start_offset < snapshots[0].id.end_offset:
        yield from log.delete_records(snapshots[0].id.end_offset)
    history = yield from _history(node, log, snapshots, loaded)
    return Opened(log, snapshots, loaded.image, history, saved, noted_offset)


def _newest_whole(node: QuorumHost, files: SnapshotFiles, snapshots: list[Snapshot], log: Log) -> Steps[Loaded]:
    """The newest snapshot. If that is damaged the one before serves, as long as the log goes on from there; so does the
    whole log."""
    damaged: list[Snapshot] = []
    loaded, failure = _NOTHING, None
    while snapshots:
        try:
            loaded = yield from files.load(snapshots[-1])
            break
        except MetadataDamage as damage:
            failure = failure or damage
            damaged.append(snapshots.pop())
    reached = snapshots[-1].id.end_offset if snapshots else 0
    if failure is not None:
        if log.start_offset > reached or log.end_offset < damaged[0].id.end_offset:
            raise failure
        for snapshot in damaged:
            yield from files.set_aside(snapshot.id)
        node.log(
            "error", "quorum", f"the metadata is damaged in {failure.what}; it was set aside, and the log has it all"
        )
    return loaded


def _give_up(node: QuorumHost, folder: str, damage: MetadataDamage, before: Loss | None) -> Steps[Loss]:
    """Set everything aside, to take it from the others; if there are any."""
    history = yield from known_voters(folder, voters_of(node.settings))
    others = [voter for voter in history.last if voter.key.id != node.node_id]
    # Nothing that can be read may be left that says who votes; then whoever is to be asked for the leader is not alone.
    may_be_alone = bool(history.last) or not bootstrap_of(node.settings)
    if node.settings.is_controller and not others and may_be_alone:
        raise damage
    addresses = [address(voter.endpoints, listener_of(node.settings)) for voter in others]
    servers = tuple((each.host, each.port) for each in addresses if each is not None)
    loss = yield from setting_aside.begin(folder, damage, before, servers)
    node.log(
        "error",
        "quorum",
        f"the metadata is damaged in {damage.what}; it is kept in {loss.folder}, and comes again from the controllers: "
        "until all of it is here this node does not vote",
    )
    return (yield from _move(folder, loss))


def _move(folder: str, loss: Loss) -> Steps[Loss]:
    """The founding snapshot stays if it is whole: a folder that was formatted anew would have the same."""
    files, kept = SnapshotFiles(folder), frozenset[str]()
    for snapshot in (yield from files.find()):
        if snapshot.id == FOUNDING:
            try:
                yield from files.load(snapshot)
                kept = frozenset((file_name(FOUNDING),))
            except MetadataDamage:
                continue
    return (yield from setting_aside.move(folder, loss, kept))


def _owner_of(node: QuorumHost) -> Steps[Meta]:
    """Whose replica this is: a voter is known by the folder of the metadata, which may be one of its own."""
    root = node.settings.metadata_log_dir
    data = None if root == node.settings.log_dir else (yield from read_file(f"{root}/{META_FILE}"))
    return node.meta if data is None else decode_meta(data)


def _open_log(node: QuorumHost, folder: str, context: LogContext, noted: Noted) -> Steps[Log]:
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
    context = replace_fields(context, on_damage=partial(_judge, node, noted))
    # Everything was synced before anybody heard of it, so looking at all of it again costs little and shows all.
    try:
        return (
            yield from open_log(TOPIC, 0, folder, settings, context, CheckpointedState(False, 0, 0, None), node.now_ms)
        )
    except DamagedLog as error:
        raise MetadataDamage(error.damage.what) from None


def _judge(node: QuorumHost, noted: Noted, damage: Damage) -> Steps[None]:
    """Only what was not synced can be torn: it is cut off, because it never counted."""
    if noted.is_clean or damage.first_offset < noted.offset:
        raise DamagedLog(damage)
    node.log(
        "warning",
        "quorum",
        f"the metadata log was cut after a crash, in {damage.what}: none of that is known to be synced",
    )
    yield from ()


def _is_replaced(log: Log, newest: SnapshotId) -> bool:
    """Whether the newest snapshot takes the log's place: one that came from the leader may have been kept when a crash
    prevented that."""
    at = newest.end_offset - 1
    return log.end_offset < newest.end_offset or (log.start_offset <= at and log.epoch_at(at) != newest.epoch)


def _history(node: QuorumHost, log: Log, snapshots: list[Snapshot], loaded: Loaded) -> Steps[VoterHistory]:
    """What the newest snapshot and the log above it say of the voters."""
    history = VoterHistory(voters_of(node.settings))
    end_offset = snapshots[-1].id.end_offset if snapshots else 0
    history.load_snapshot(end_offset, loaded.controls)
    next_offset = max(end_offset, log.start_offset)

    def take(data: bytes, position: int, header: BatchHeader) -> None:
        nonlocal next_offset
        if header.base_offset > next_offset:
            # No checksum covers offsets, and nobody compacts this log.
            raise MetadataDamage(f"{log.dir}: offsets {next_offset} to {header.base_offset - 1} are missing")
        next_offset = header.next_offset
        if header.is_control:
            history.fold(data[position : position + header.size])

    yield from fold_log(log, take, next_offset)
    return history
