"""The snapshot that a cluster with dynamic voters is formatted with: kraft.version 1 and the first voters."""

from __future__ import annotations

from penstock.core.raft.ids import SnapshotId
from penstock.core.raft.voters import VoterSet
from penstock.core.records.build import build_batch
from penstock.core.records.control import ControlType, encode_key
from penstock.core.wire.stored.quorum import KRaftVersionRecord


def bootstrap_snapshot(voters: VoterSet, snapshot_id: SnapshotId) -> bytearray:
    version = KRaftVersionRecord(version=0, k_raft_version=1)
    records = [
        (encode_key(ControlType.KRAFT_VERSION), version.encode(0), (), 0),
        (encode_key(ControlType.KRAFT_VOTERS), voters.to_record().encode(0), (), 0),
    ]
    return build_batch(records, control=True, leader_epoch=snapshot_id.epoch)
