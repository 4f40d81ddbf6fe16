"""Kafka's tools for share groups: offsets are set before anybody reads, groups are listed, described and deleted."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from penstock.client.blocking import Client
from penstock.core.wire.api.share_group_heartbeat import ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse
from penstock.testing import Broker
from tests.conformance.confluent import producer
from tests.conformance.java.running import run
from tests.kafka_peer import Tool

pytestmark = [pytest.mark.java, pytest.mark.slow]

PARTITIONS = 2
MEMBER = "a-member"


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker({"share.coordinator.state.topic.num.partitions": 2}, beside=True) as running:
        yield running


def beat(broker: Broker, group: str, topic: str, epoch: int) -> ShareGroupHeartbeatResponse:
    with Client(broker.bootstrap) as client:
        request = ShareGroupHeartbeatRequest(
            group_id=group, member_id=MEMBER, member_epoch=epoch, subscribed_topic_names=[topic] if epoch == 0 else None
        )
        return client.ask(request, ShareGroupHeartbeatResponse, node=client.coordinator(group))


def rows(text: str, group: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines() if line.startswith(group)]


def test_the_life_of_a_group(broker: Broker, name: str) -> None:
    broker.create_topic(name, partitions=PARTITIONS)
    writer = producer(broker)
    for number in range(4):
        writer.produce(name, b"%d" % number, partition=number % PARTITIONS)
    assert writer.flush(10) == 0
    reset = ("--reset-offsets", "--group", name, "--topic", name)
    run(broker, Tool.SHARE_GROUPS, *reset, "--to-earliest", "--execute")
    described = rows(run(broker, Tool.SHARE_GROUPS, "--describe", "--group", name, "--offsets"), name)
    # Group, topic, partition, start offset, lag.
    assert sorted(row[2:5] for row in described) == [["0", "0", "2"], ["1", "0", "2"]]

    joined = beat(broker, name, name, 0)
    assert joined.error_code == 0
    assert joined.assignment is not None
    assert [each.partitions for each in joined.assignment.topic_partitions] == [[0, 1]]
    (member,) = rows(run(broker, Tool.SHARE_GROUPS, "--describe", "--group", name, "--members"), name)
    assert MEMBER in member
    assert f"{name}:0,1" in member[-1]
    assert beat(broker, name, name, -1).error_code == 0

    listed = rows(run(broker, Tool.GROUPS, "--list", "--group-type", "share"), name)
    assert listed == [[name, "Share", "share"]]
    run(broker, Tool.SHARE_GROUPS, "--delete-offsets", "--group", name, "--topic", name)
    run(broker, Tool.SHARE_GROUPS, "--delete", "--group", name)
    assert name not in run(broker, Tool.SHARE_GROUPS, "--list").split()
