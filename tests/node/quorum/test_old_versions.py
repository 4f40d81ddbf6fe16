"""Voters answer in every version that they offer, also where it has no room for all that they would say."""

from __future__ import annotations

from penstock.core.log.names import METADATA_TOPIC
from penstock.core.wire.api.fetch import FetchPartition, FetchRequest, FetchTopic
from penstock.core.wire.api.fetch_snapshot import (
    FetchSnapshotRequest,
    RequestPartitionSnapshot,
    RequestSnapshotId,
    RequestTopicSnapshot,
)
from penstock.sim.machine import CONTROLLER_PORT
from tests.node.controller.nodes import NODES, Nodes
from tests.robustness.hostile.votes import asked

LAST_FETCH_BY_NAME = 12


def test_whoever_speaks_an_old_version_is_answered() -> None:
    cluster = Nodes()
    partition = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1_000)
    fetch = FetchRequest(topics=[FetchTopic(topic=METADATA_TOPIC, partitions=[partition])], max_wait_ms=0, min_bytes=0)
    wanted = RequestPartitionSnapshot(
        partition=0, current_leader_epoch=1, snapshot_id=RequestSnapshotId(end_offset=0, epoch=0), position=0
    )
    snapshot = FetchSnapshotRequest(topics=[RequestTopicSnapshot(name=METADATA_TOPIC, partitions=[wanted])])
    (_, (vote, _), *told) = asked(voter=1, epoch=1)
    for number in NODES:
        for request, version in (*told, (vote, 0), (snapshot, 0), (fetch, LAST_FETCH_BY_NAME)):
            assert cluster.ask(number, request, CONTROLLER_PORT, version) is not None
