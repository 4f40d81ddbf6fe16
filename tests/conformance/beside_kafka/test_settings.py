"""Settings as the admin APIs show and change them."""

from typing import Any

import pytest

from tests.conformance.beside_kafka.side import FIXED_HERE, Side, Sides

pytestmark = [pytest.mark.java, pytest.mark.slow]

TOPIC, BROKER, BROKER_LOGGER, GROUP, CLIENT_METRICS = 2, 4, 8, 32, 16
SET, DELETE, APPEND, SUBTRACT = range(4)
# Kafka writes this one into its metadata when a node is formatted.
OWN_SOURCE = {"min.insync.replicas"}
# Each broker documents a setting in its own words.
OWN_WORDS = "documentation"
OWN_PREFIX = "penstock."


def resource(kind: int, name: str, **more: Any) -> dict[str, Any]:
    return {"resource_type": kind, "resource_name": name, "configuration_keys": None} | more


def described(side: Side, version: int, kind: int, name: str, **more: Any) -> dict[str, Any]:
    answer = side.ask("DescribeConfigs", version, resources=[resource(kind, name, **more)], include_synonyms=True)
    (result,) = answer["results"]
    known = [row for row in result["configs"] if not row["name"].startswith(OWN_PREFIX)]
    rows = {row["name"]: {**row, OWN_WORDS: ""} for row in known}
    for own in OWN_SOURCE & rows.keys():
        rows[own] |= {"config_source": "", "synonyms": ""}
    for fixed in FIXED_HERE & rows.keys():
        rows[fixed] |= {"read_only": ""}
    return {**result, "configs": rows}


@pytest.mark.parametrize("version", range(1, 5))
def test_defaults_of_topics(sides: Sides, version: int) -> None:
    topic = f"default-{version}"
    sides.create(topic, retention_ms="1234")
    sides.agree_soon(lambda side: described(side, version, TOPIC, topic))
    some = {"configuration_keys": ["retention.ms", "no.such.key"]}
    sides.agree_soon(lambda side: described(side, version, TOPIC, topic, **some))
    sides.agree_soon(lambda side: described(side, version, TOPIC, topic, configuration_keys=[]))


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (TOPIC, "nowhere"),
        (TOPIC, "not a name"),
        (TOPIC, ""),
        (BROKER, "7"),
        (BROKER, "one"),
        (BROKER_LOGGER, "7"),
        (BROKER_LOGGER, "one"),
        (BROKER_LOGGER, ""),
        (GROUP, ""),
        (GROUP, "anyone"),
        (CLIENT_METRICS, ""),
        (3, "x"),
        (0, "x"),
        (99, "x"),
    ],
)
def test_resources_that_are_not_there(sides: Sides, kind: int, name: str) -> None:
    if kind == GROUP and name:
        # Keys of kinds of groups that come later are not listed here.
        sides.agree_soon(lambda side: described(side, 4, kind, name, configuration_keys=["no.such.key"]))
    else:
        sides.agree_soon(lambda side: described(side, 4, kind, name))
    change = {"name": "retention.ms", "value": "1", "config_operation": SET}
    target = {"resource_type": kind, "resource_name": name, "configs": [change]}
    sides.same("IncrementalAlterConfigs", 1, resources=[target])
    change.pop("config_operation")
    sides.same("AlterConfigs", 2, resources=[target])


CHANGES = [
    [("retention.ms", SET, "5000")],
    [("retention.ms", SET, "soon")],
    [("retention.ms", SET, None)],
    [("retention.ms", SET, "-2")],
    [("no.such.key", SET, "1")],
    [("no.such.key", DELETE, None)],
    [("retention.ms", DELETE, None)],
    [("retention.ms", APPEND, "1")],
    [("cleanup.policy", APPEND, "compact")],
    [("cleanup.policy", APPEND, "compact")],
    [("cleanup.policy", APPEND, "nonsense")],
    [("cleanup.policy", SUBTRACT, "delete")],
    [("cleanup.policy", SUBTRACT, "compact")],
    [("cleanup.policy", SUBTRACT, "delete")],
    [("retention.ms", SET, "1"), ("retention.ms", SET, "2")],
    [("retention.ms", SET, "6000"), ("segment.bytes", SET, "no")],
    [("", SET, "1")],
    [],
    [("compression.type", SET, "zip")],
    [("min.insync.replicas", SET, "0")],
    [("max.message.bytes", SET, "-1")],
    [("segment.bytes", SET, "1048576"), ("flush.messages", SET, "7")],
]


@pytest.mark.parametrize("version", [0, 1])
def test_changes_of_topics(sides: Sides, version: int) -> None:
    topic = f"changed-{version}"
    sides.create(topic)
    for change in CHANGES:
        rows = [{"name": name, "config_operation": op, "value": value} for name, op, value in change]
        target = {"resource_type": TOPIC, "resource_name": topic, "configs": rows}
        try:
            sides.same("IncrementalAlterConfigs", version, resources=[target], validate_only=True)
            sides.same("IncrementalAlterConfigs", version, resources=[target])
            sides.same("IncrementalAlterConfigs", version, resources=[target, target])
            sides.agree_soon(lambda side: described(side, 4, TOPIC, topic))
        except AssertionError as failure:
            raise AssertionError(f"{change}: {failure}") from None


@pytest.mark.parametrize("version", range(3))
def test_replacements_of_topics(sides: Sides, version: int) -> None:
    topic = f"replaced-{version}"
    sides.create(topic, retention_ms="1234", segment_ms="4321")
    for change in (
        [("retention.ms", "5000")],
        [("retention.ms", None)],
        [("retention.ms", "soon")],
        [("no.such.key", "1")],
        [("retention.ms", "1"), ("retention.ms", "2")],
        [],
    ):
        rows = [{"name": name, "value": value} for name, value in change]
        target = {"resource_type": TOPIC, "resource_name": topic, "configs": rows}
        sides.same("AlterConfigs", version, resources=[target], validate_only=True)
        sides.same("AlterConfigs", version, resources=[target])
        sides.agree_soon(lambda side: described(side, 4, TOPIC, topic))


def test_changes_of_brokers(sides: Sides) -> None:
    for name in ("1", ""):
        for key, value in (
            ("log.cleaner.threads", "2"),
            ("log.cleaner.threads", "many"),
            ("log.retention.ms", "100000000"),
            ("node.id", "7"),
            ("no.such.key", "1"),
            ("log.dirs", "elsewhere"),
        ):
            row = {"name": key, "config_operation": SET, "value": value}
            target = {"resource_type": BROKER, "resource_name": name, "configs": [row]}
            try:
                sides.same("IncrementalAlterConfigs", 1, resources=[target], validate_only=True)
            except AssertionError as failure:
                raise AssertionError(f"{name} {key}: {failure}") from None


def test_broker_settings(sides: Sides) -> None:
    """Keys whose values do not depend on the machine."""
    keys = [
        "log.segment.bytes",
        "num.partitions",
        "log.retention.ms",
        "message.max.bytes",
        "compression.type",
        "node.id",
    ]
    keys += ["offsets.topic.num.partitions", "log.cleaner.threads", "auto.create.topics.enable", "no.such.key"]
    sides.agree_soon(lambda side: described(side, 4, BROKER, "1", configuration_keys=keys))


@pytest.mark.parametrize("version", [0, 1])
def test_resources_are_listed(sides: Sides, version: int) -> None:
    for kinds in ([], [BROKER], [GROUP], [CLIENT_METRICS], [BROKER_LOGGER], [99]):
        sides.agree_soon(lambda side, kinds=kinds: side.ask("ListConfigResources", version, resource_types=kinds))
        if version == 0:
            break


@pytest.mark.parametrize(
    ("key", "value", "operation"),
    [
        ("interval.ms", "99", SET),
        ("interval.ms", "3600001", SET),
        ("interval.ms", "often", SET),
        ("interval.ms", "1", APPEND),
        ("match", "client_id", SET),
        ("match", "colour=red", SET),
        ("match", "client_id=[", SET),
        ("match", "client_id=a=b", SET),
        ("colour", "red", SET),
        ("metrics", "*", SET),
        ("metrics", "more", APPEND),
        ("match", "client_id=a.*,client_software_name=b", SET),
        ("interval.ms", "100", SET),
        ("metrics", "more", SUBTRACT),
        ("metrics", None, DELETE),
    ],
)
def test_subscriptions_to_clients_metrics(sides: Sides, key: str, value: str | None, operation: int) -> None:
    change = {"name": key, "value": value, "config_operation": operation}
    target = {"resource_type": CLIENT_METRICS, "resource_name": "subscribed", "configs": [change]}
    sides.same("IncrementalAlterConfigs", 1, resources=[target])
    sides.agree_soon(lambda side: described(side, 4, CLIENT_METRICS, "subscribed"))
    sides.agree_soon(lambda side: side.ask("ListConfigResources", 1, resource_types=[CLIENT_METRICS]))
