"""Who changed what, who was refused, and that it is on record."""

from __future__ import annotations

import json
from typing import Any

from penstock.core.base.errors import ErrorCode
from penstock.core.base.settings.authorizer_rules import STANDARD_AUTHORIZER
from penstock.core.metadata.image import BROKER_RESOURCE
from penstock.core.node.membership.audit_trail import REPEATED_MS, WAITING_MAX
from penstock.core.node.membership.internal_topics import AUDIT_TOPIC
from penstock.core.node.serving.access import Operation, Resource
from penstock.core.node.serving.audited import NAMES_MAX
from penstock.core.node.serving.gates import ALLOW_ALL
from penstock.core.wire.api.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialUpsertion,
)
from penstock.core.wire.api.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from penstock.core.wire.api.delete_topics import DeleteTopicsRequest, DeleteTopicState
from penstock.core.wire.api.metadata import MetadataRequest
from tests.node.test_gates import Forbids
from tests.node.world import World, fetch, found_in, produce, values_of
from tests.settings_act.trial import alter


def a_world(**settings: str) -> World:
    world = World({"penstock.audit.enable": "true", **settings})
    world.pass_time(5_000)
    return world


def creation(*names: str, **configs: str) -> CreateTopicsRequest:
    given = [CreatableTopicConfig(name=key.replace("_", "."), value=value) for key, value in configs.items()]
    topics = [CreatableTopic(name=name, num_partitions=1, replication_factor=1, configs=given) for name in names]
    return CreateTopicsRequest(topics=topics, timeout_ms=1000)


def trail(world: World) -> list[dict[str, Any]]:
    """All of it, once it is written."""
    world.pass_time(3_000)
    if world.node.image.topic(AUDIT_TOPIC) is None:
        return []
    answer = world.client().ask(fetch({(AUDIT_TOPIC, 0): 0}, max_bytes=1 << 24, partition_bytes=1 << 24), 11)
    return [json.loads(value or b"") for value in values_of(found_in(answer)[AUDIT_TOPIC, 0].records)]


def test_nothing_is_kept_unless_somebody_asks_for_it() -> None:
    world = World()
    world.create("t")
    assert trail(world) == []


def test_a_change_is_on_record_with_who_asked_and_what_came_of_it() -> None:
    world = a_world()
    world.client("10.0.0.7").ask(creation("t", "bad name", retention_ms="7"))
    (event,) = trail(world)
    assert event == {
        "time": event["time"],
        "node": 1,
        "event": "change",
        "principal": "User:ANONYMOUS",
        "address": "10.0.0.7",
        "listener": "PLAINTEXT",
        "client_id": "test",
        "api": "CreateTopics",
        "names": {"name": ["t", "retention.ms", "bad name"]},
        "result": ["INVALID_TOPIC_EXCEPTION"],
    }
    world.client().ask(DeleteTopicsRequest(topics=[DeleteTopicState(name="t")], timeout_ms=1000))
    assert [(each["api"], each["result"]) for each in trail(world)][1:] == [("DeleteTopics", ["NONE"])]


def test_looking_and_using_is_no_change() -> None:
    world = a_world()
    world.create("t")
    world.client().ask(MetadataRequest())
    world.client().ask(produce("t", b"v"), 9)
    assert [each["api"] for each in trail(world)] == ["CreateTopics"]


def test_it_can_be_switched_on_while_the_node_runs() -> None:
    world = World()
    assert alter(world, BROKER_RESOURCE, "", {"penstock.audit.enable": "true"}) == 0
    world.create("t")
    assert [each["api"] for each in trail(world)] == ["CreateTopics"]
    assert alter(world, BROKER_RESOURCE, "", {"penstock.audit.enable": "false"}) == 0
    world.create("u")
    assert [each["api"] for each in trail(world)] == ["CreateTopics", "IncrementalAlterConfigs"]


def test_no_password_is_on_record() -> None:
    world = a_world()
    user = ScramCredentialUpsertion(name="alice", mechanism=1, iterations=4096, salt=b"salt", salted_password=b"secret")
    world.client().ask(AlterUserScramCredentialsRequest(deletions=[], upsertions=[user]))
    (event,) = trail(world)
    assert event["names"] == {"name": ["alice"]}
    assert "secret" not in json.dumps(event)


def test_what_is_refused_is_on_record_by_its_name() -> None:
    world = a_world()
    world.create("t")
    world.create("hidden")
    world.node.gates = world.node.gates._replace(
        authorizer=Forbids(
            (Operation.WRITE, Resource.TOPIC, "hidden"),
            (Operation.READ, Resource.TOPIC, "hidden"),
            (Operation.DELETE, Resource.TOPIC, "hidden"),
            (Operation.DELETE, Resource.CLUSTER, "kafka-cluster"),
        )
    )
    client = world.client()
    client.ask(produce("hidden", b"v"), 9)
    client.ask(fetch({("hidden", 0): 0}), 11)
    client.ask(DeleteTopicsRequest(topics=[DeleteTopicState(name="hidden")], timeout_ms=1000))
    found = [(each["event"], each["api"], each["names"], each["result"]) for each in trail(world)[2:]]
    refused, names = [ErrorCode.TOPIC_AUTHORIZATION_FAILED.name], {"name": ["hidden"]}
    assert found[:3] == [("refused", api, names, refused) for api in ("Produce", "Fetch", "DeleteTopics")]


def test_what_is_refused_again_and_again_is_counted() -> None:
    world = a_world()
    world.create("hidden")
    world.node.gates = world.node.gates._replace(authorizer=Forbids((Operation.WRITE, Resource.TOPIC, "hidden")))
    client = world.client()
    for _ in range(300):
        client.ask(produce("hidden", b"v"), 9)
    assert len(trail(world)) == 2
    world.pass_time(REPEATED_MS)
    assert [each.get("times") for each in trail(world)] == [None, None, 299]


def test_what_waits_is_bounded_and_what_is_lost_is_counted() -> None:
    world = a_world()
    world.create("t")
    assert len(trail(world)) == 1
    world.hold()
    for number in range(WAITING_MAX + 50):
        world.turn(lambda number=number: world.node.audit({"event": "change", "number": number}))  # type: ignore[misc]
    world.release()
    found = trail(world)
    assert found[-1]["event"] == "lost"
    assert len(found) + found[-1]["times"] == WAITING_MAX + 50 + 2


def test_a_request_with_many_names_says_some() -> None:
    world = a_world()
    world.client().ask(creation(*(f"topic-{number}" for number in range(100))))
    (event,) = trail(world)
    assert len(event["names"]["name"]) == NAMES_MAX


def test_the_trail_is_written_where_rules_let_nobody_write() -> None:
    rules = {"authorizer.class.name": STANDARD_AUTHORIZER, "super.users": "User:root"}
    world = World(rules | {"penstock.audit.enable": "true"})
    world.client("10.0.0.7").ask(creation("t"))
    world.node.gates = world.node.gates._replace(authorizer=ALLOW_ALL)
    (event,) = trail(world)
    assert (event["event"], event["result"]) == ("refused", [ErrorCode.TOPIC_AUTHORIZATION_FAILED.name])
