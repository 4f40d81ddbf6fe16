"""Settings changed while a node runs: which one wins, that they last, and what is refused because it could not."""

from __future__ import annotations

import pytest

from penstock.core.base.errors import ErrorCode
from penstock.core.metadata.configs import DELETE, SET
from penstock.core.metadata.image import BROKER_RESOURCE
from penstock.core.wire.api.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from tests.node.world import World
from tests.settings_act.asking import append
from tests.settings_act.trial import alter

ALL, ONE = "", "1"
LARGE = "a=" + "x" * 2000


def test_the_nearest_value_wins_and_going_back_uncovers_the_next() -> None:
    world = World({"message.max.bytes": "1000"})
    world.create("t")
    assert append(world, LARGE) == ErrorCode.MESSAGE_TOO_LARGE
    assert alter(world, BROKER_RESOURCE, ALL, {"message.max.bytes": "5000"}) == 0
    assert append(world, LARGE) == ErrorCode.NONE
    assert alter(world, BROKER_RESOURCE, ONE, {"message.max.bytes": "900"}) == 0
    assert append(world, LARGE) == ErrorCode.MESSAGE_TOO_LARGE
    take_back(world, ONE, "message.max.bytes")
    assert append(world, LARGE) == ErrorCode.NONE
    take_back(world, ALL, "message.max.bytes")
    assert append(world, LARGE) == ErrorCode.MESSAGE_TOO_LARGE


def take_back(world: World, broker: str, name: str) -> None:
    configs = [AlterableConfig(name=name, config_operation=DELETE, value=None)]
    resource = AlterConfigsResource(resource_type=BROKER_RESOURCE, resource_name=broker, configs=configs)
    answer = world.client().ask(IncrementalAlterConfigsRequest(resources=[resource]))
    assert answer.responses[0].error_code == 0


def test_a_change_outlives_the_process() -> None:
    world = World()
    world.create("t")
    assert alter(world, BROKER_RESOURCE, ALL, {"message.max.bytes": "1000", "max.connections": "3"}) == 0
    world.restart()
    assert append(world, LARGE) == ErrorCode.MESSAGE_TOO_LARGE
    assert [world.node.connect("10.0.0.1", port) is None for port in range(3)] == [False, False, True]


def test_recovery_forgets_producers_by_what_was_set_while_running() -> None:
    world = World()
    world.create("t")
    assert alter(world, BROKER_RESOURCE, ALL, {"producer.id.expiration.ms": "500"}) == 0
    assert append(world, "a=1", producer_id=7, producer_epoch=0, base_sequence=0) == ErrorCode.NONE
    world.restart(clean=False)
    assert append(world, "a=1", producer_id=7, producer_epoch=0, base_sequence=5) == ErrorCode.NONE


@pytest.mark.parametrize(
    ("broker", "changes"),
    [
        # Each would be fine alone, and no node starts with both.
        (ALL, {"log.cleaner.min.compaction.lag.ms": "9", "log.cleaner.max.compaction.lag.ms": "8"}),
        (ALL, {"max.connections.per.ip": "0"}),
        (ALL, {"max.connections.per.ip.overrides": "nonsense"}),
        (ALL, {"log.cleaner.dedupe.buffer.size": "1"}),
        (ONE, {"ssl.cipher.suites": "TLS_AES_128_GCM_SHA256"}),
        (ONE, {"listeners": "PLAINTEXT://127.0.0.1:19092,CONTROLLER://127.0.0.1:9093"}),
        (ONE, {"listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,EXTRA:PLAINTEXT"}),
        (ONE, {"num.partitions": "3"}),
    ],
)
def test_what_no_node_could_follow_or_start_with_is_refused(broker: str, changes: dict[str, str]) -> None:
    world = World()
    assert alter(world, BROKER_RESOURCE, broker, changes) == ErrorCode.INVALID_REQUEST
    world.restart()
    assert world.node.state == "running"


def test_a_change_is_checked_together_with_earlier_ones() -> None:
    world = World()
    assert alter(world, BROKER_RESOURCE, ALL, {"log.cleaner.max.compaction.lag.ms": "8"}) == 0
    code = alter(world, BROKER_RESOURCE, ONE, {"log.cleaner.min.compaction.lag.ms": "9"})
    assert code == ErrorCode.INVALID_REQUEST
    assert alter(world, BROKER_RESOURCE, ONE, {"log.cleaner.min.compaction.lag.ms": "7"}) == 0
    world.restart()
    assert world.node.settings["log.cleaner.min.compaction.lag.ms"] == 7


def test_a_file_that_contradicts_earlier_changes_wins_and_the_node_says_so() -> None:
    world = World()
    assert alter(world, BROKER_RESOURCE, ALL, {"log.cleaner.max.compaction.lag.ms": "8"}) == 0
    world.given["log.cleaner.min.compaction.lag.ms"] = "9"
    world.restart()
    assert world.node.state == "running"
    assert world.node.settings["log.cleaner.min.compaction.lag.ms"] == 9
    (text,) = [text for level, text in world.notes if level == "error"]
    assert text.startswith("settings changed while running are not in force: log.cleaner.min.compaction.lag.ms (9) >")


def test_changes_that_contradict_each_other_leave_the_node_as_it_was() -> None:
    """Each is checked against what is there, not against what comes with it in the same request."""
    world = World()
    changes = {ALL: ("log.cleaner.max.compaction.lag.ms", "8"), ONE: ("log.cleaner.min.compaction.lag.ms", "9")}
    resources = [
        AlterConfigsResource(
            resource_type=BROKER_RESOURCE,
            resource_name=broker,
            configs=[AlterableConfig(name=name, config_operation=SET, value=value)],
        )
        for broker, (name, value) in changes.items()
    ]
    world.client().ask(IncrementalAlterConfigsRequest(resources=resources))
    assert any("not in force" in text for level, text in world.notes if level == "error")
    take_back(world, ONE, "log.cleaner.min.compaction.lag.ms")
    assert world.node.settings["log.cleaner.max.compaction.lag.ms"] == 8
