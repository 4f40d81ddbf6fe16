"""Nodes of an older version are replaced one by one under load, and only then the cluster agrees on what is new."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from penstock.client.admin import Admin
from penstock.client.blocking import Client
from penstock.core.base.errors import ErrorCode
from penstock.core.metadata.feature_updates import UPGRADE
from penstock.core.metadata.features import METADATA_LEVEL, METADATA_VERSION
from penstock.core.wire.api.update_features import FeatureUpdateKey, UpdateFeaturesRequest, UpdateFeaturesResponse
from tests.chaos.checker import complaints_about_records, complaints_about_replicas, read_everything
from tests.chaos.cluster import REPLICAS, ChaosCluster
from tests.chaos.load import Load
from tests.chaos.place import Loopback
from tests.formats.older import LEVEL
from tests.waiting import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.client]

NODES = 3
TOPIC = "t"
OLDER = (sys.executable, str(Path(__file__).parent / "older.py"))


def level(cluster: ChaosCluster) -> int:
    with Client(cluster.bootstrap) as client:
        return Admin(client).features()[METADATA_VERSION]


def raise_level(cluster: ChaosCluster) -> UpdateFeaturesResponse:
    update = FeatureUpdateKey(feature=METADATA_VERSION, max_version_level=METADATA_LEVEL, upgrade_type=UPGRADE)
    with Client(cluster.bootstrap) as client:
        return client.ask(UpdateFeaturesRequest(timeout_ms=10_000, feature_updates=[update]), UpdateFeaturesResponse)


def restart(cluster: ChaosCluster, number: int, program: Sequence[str]) -> None:
    cluster.stop([number])
    cluster.nodes[number].program = program
    cluster.start([number])
    cluster.wait_healed(TOPIC)


def test_one_by_one(tmp_path: Path) -> None:
    cluster = ChaosCluster(Loopback(tmp_path, NODES), NODES)
    newest = cluster.nodes[1].program
    for node in cluster.nodes.values():
        node.program = OLDER
    with cluster:
        cluster.create_topic(TOPIC, NODES)
        assert level(cluster) == LEVEL
        with Load(cluster.bootstrap, TOPIC) as load:
            for number in cluster.nodes:
                if number == NODES:
                    # Once more as it was: now it reads what a controller of the newer version writes.
                    restart(cluster, number, OLDER)
                refused = raise_level(cluster)
                assert refused.error_code == ErrorCode.INVALID_UPDATE_VERSION
                assert f"only supports versions 7-{LEVEL}" in (refused.error_message or "")
                restart(cluster, number, newest)
            assert level(cluster) == LEVEL, "nobody has asked for more"
            wait_until(lambda: raise_level(cluster).error_code == 0, what="all are known to support it")
            wait_until(lambda: level(cluster) == METADATA_LEVEL, what="the node that is asked has heard of it")
            load.finish()
        # Once the cluster has agreed, nodes start by what they have agreed on.
        cluster.stop(cluster.nodes)
        cluster.start(cluster.nodes)
        cluster.wait_healed(TOPIC)
        assert level(cluster) == METADATA_LEVEL
        found = read_everything(cluster.bootstrap, TOPIC, NODES)
        assert load.acks
        assert complaints_about_records(load.acks, found) == []
        cluster.stop(cluster.nodes)
        for partition in range(NODES):
            assert complaints_about_replicas(cluster.partition_folders(TOPIC, partition), REPLICAS) == []


def test_an_older_node_does_not_start_where_more_was_agreed_on(tmp_path: Path) -> None:
    """And says so: its operator should not look for another reason."""
    cluster = ChaosCluster(Loopback(tmp_path, 1), 1)
    with cluster:
        wait_until(lambda: level(cluster) == METADATA_LEVEL, what="the node has begun")
        cluster.stop([1])
        cluster.nodes[1].program = OLDER
        cluster.nodes[1].start()
        with pytest.raises(AssertionError, match="came too early"):
            wait_until(lambda: cluster.nodes[1].serves, timeout_s=30)
