"""What a snapshot carries besides the owner's records: a head with the voters of its time, and a foot that ends it."""

from __future__ import annotations

from typing import Final

from penstock.core.raft.history import VoterHistory
from penstock.core.raft.ids import SnapshotId
from penstock.core.raft.voters import VoterSet
from penstock.core.records.batch import read_header
from penstock.core.records.build import NewRecord, build_batch
from penstock.core.records.control import ControlType, encode_key
from penstock.core.wire.schema import StoredRecord
from penstock.core.wire.stored.quorum import KRaftVersionRecord, SnapshotFooterRecord, SnapshotHeaderRecord

FOUNDING: Final = SnapshotId(0, 0)
"""The snapshot that a folder is formatted with: it stands for nothing but the first voters."""


def founding_snapshot(voters: VoterSet, now_ms: int) -> bytes:
    """All of the snapshot with which a cluster begins whose voters are kept in the log."""
    head = _head(1, voters, FOUNDING, now_ms, now_ms)
    return bytes(head + snapshot_foot(FOUNDING, read_header(head).next_offset, now_ms))


def snapshot_head(history: VoterHistory, snapshot_id: SnapshotId, last_timestamp_ms: int, now_ms: int) -> bytearray:
    """The first batch; `last_timestamp_ms` is that of the last record which the snapshot stands for."""
    version, voters = history.at(snapshot_id.end_offset)
    return _head(version, voters, snapshot_id, last_timestamp_ms, now_ms)


def _head(version: int, voters: VoterSet, snapshot_id: SnapshotId, last_timestamp_ms: int, now_ms: int) -> bytearray:
    header = SnapshotHeaderRecord(version=0, last_contained_log_timestamp=last_timestamp_ms)
    records = [_control(ControlType.SNAPSHOT_HEADER, header, now_ms)]
    if version >= 1:
        raised = KRaftVersionRecord(version=0, k_raft_version=version)
        records.append(_control(ControlType.KRAFT_VERSION, raised, now_ms))
        records.append(_control(ControlType.KRAFT_VOTERS, voters.to_record(), now_ms))
    return build_batch(records, control=True, leader_epoch=snapshot_id.epoch)


def snapshot_foot(snapshot_id: SnapshotId, base_offset: int, now_ms: int) -> bytearray:
    """The last batch, at the offset within the snapshot that it stands at."""
    foot = _control(ControlType.SNAPSHOT_FOOTER, SnapshotFooterRecord(version=0), now_ms)
    return build_batch([foot], control=True, base_offset=base_offset, leader_epoch=snapshot_id.epoch)


def _control(kind: ControlType, record: StoredRecord, now_ms: int) -> NewRecord:
    return encode_key(kind), record.encode(0), (), now_ms
