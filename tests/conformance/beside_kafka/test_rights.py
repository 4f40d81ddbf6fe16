"""The matrix of rights on Apache Kafka with its standard authorizer, and the requests about rules on both brokers: what
our table says is what Kafka does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from penstock.core.base.settings.authorizer_rules import STANDARD_AUTHORIZER
from penstock.testing import Broker
from tests.access.matrix import A_RULE, FOR_STRANGERS, JOIN_S, LEAVE_S, ROWS, TOPICS, Row, askers, entries, judge
from tests.access.town import SUPER
from tests.conformance.beside_kafka.side import Side, Sides
from tests.kafka_peer import KafkaPeer
from tests.waiting import wait_until

pytestmark = [pytest.mark.java, pytest.mark.slow]

USERS = sorted({asker.name for number in range(len(ROWS)) for asker in askers(number)})
LOGIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"
JAAS = " ".join([LOGIN, f'username="{SUPER}" password="{SUPER}"', *(f'user_{name}="{name}"' for name in USERS)]) + ";"
SETTINGS = {
    "listener.security.protocol.map": "PLAINTEXT:SASL_PLAINTEXT,CONTROLLER:SASL_PLAINTEXT",
    "sasl.enabled.mechanisms": "PLAIN",
    "sasl.mechanism.inter.broker.protocol": "PLAIN",
    "sasl.mechanism.controller.protocol": "PLAIN",
    "listener.name.plaintext.plain.sasl.jaas.config": JAAS,
    "listener.name.controller.plain.sasl.jaas.config": JAAS,
    "authorizer.class.name": STANDARD_AUTHORIZER,
    "super.users": f"User:{SUPER}",
    "unstable.api.versions.enable": "true",
    "transaction.two.phase.commit.enable": "true",
}


class KnownSide(Side):
    """A side that says who asks, as SASL's PLAIN does."""

    def __init__(self, user: str, port: int, ids: dict[str, bytes] | None = None) -> None:
        super().__init__(user, port, ids)
        self.ask("SaslHandshake", 1, mechanism="PLAIN")
        proof = f"\0{user}\0{user}".encode()
        assert not self.ask_raw("SaslAuthenticate", 2, auth_bytes=proof).message.error_code


class Kafka:
    """A broker with everybody's rules."""

    def __init__(self, peer: KafkaPeer) -> None:
        self.peer = peer
        root = KnownSide(SUPER, peer.port)
        for name in TOPICS:
            root.create(name)
        self.ids = root.ids
        wait_until(lambda: holds_transaction(root), what="a transactional id")
        wait_until(lambda: holds_group(root), what="a group")
        wait_until(lambda: holds_share_group(root), what="a share group")
        answer = root.ask_raw("CreateAcls", 2, creations=[entry_values(each) for each in entries()]).message
        assert not any(each.error_code for each in answer.results)
        everything = {"resource_type_filter": 1, "pattern_type_filter": 1, "operation": 1, "permission_type": 1}
        nobody = {"resource_name_filter": None, "principal_filter": None, "host_filter": None}
        expected = len({str(entry_values(each)) for each in entries()})
        wait_until(
            lambda: (
                sum(
                    len(each.acls) for each in root.ask_raw("DescribeAcls", 2, **everything, **nobody).message.resources
                )
                == expected
            ),
            what="the rules on the broker",
        )
        root.close()

    def ask(self, row: Row, name: str) -> Any:
        side = KnownSide(name, self.peer.controller_port if row.on_controller else self.peer.port, self.ids)
        answer = side.ask_raw(row.api, row.version, **row.values).message
        side.close()
        return answer


def entry_values(entry: Any) -> dict[str, Any]:
    return {field.name: getattr(entry, field.name) for field in type(entry).SPEC.fields}


def holds_transaction(root: Side) -> bool:
    root.ask("FindCoordinator", 4, coordinator_keys=["held"], key_type=1)
    return not root.ask_raw(
        "InitProducerId", 4, transactional_id="held", transaction_timeout_ms=1000
    ).message.error_code


def holds_group(root: Side) -> bool:
    root.ask("FindCoordinator", 4, coordinator_keys=["g"], key_type=0)
    topics = [{"name": "t", "partitions": [{"partition_index": 0, "committed_offset": 0}]}]
    answer = root.ask_raw("OffsetCommit", 8, group_id="g", generation_id_or_member_epoch=-1, topics=topics).message
    return not answer.topics[0].partitions[0].error_code


def holds_share_group(root: Side) -> bool:
    root.ask("FindCoordinator", 4, coordinator_keys=["s"], key_type=0)
    beats = (root.ask_raw("ShareGroupHeartbeat", 1, **beat).message for beat in (JOIN_S, LEAVE_S))
    return not any(each.error_code for each in beats)


@pytest.fixture(scope="module")
def kafka() -> Iterator[Kafka]:
    with KafkaPeer(properties=SETTINGS) as peer:
        yield Kafka(peer)


@pytest.mark.parametrize("number", range(len(ROWS)), ids=lambda number: ROWS[number].label)
def test_who_hears_what(kafka: Kafka, number: int) -> None:
    for asker in askers(number):
        judge(ROWS[number], asker, kafka.ask(ROWS[number], asker.name))


@pytest.mark.parametrize("number", range(len(ROWS)), ids=lambda number: ROWS[number].label)
def test_a_stranger_is_answered_in_few_things_only(kafka: Kafka, number: int) -> None:
    row = ROWS[number]
    stranger = Side("stranger", kafka.peer.controller_port if row.on_controller else kafka.peer.port, kafka.ids)
    answer = stranger.ask_raw(row.api, row.version, **row.values).message
    stranger.close()
    assert (answer is not None) == (row.api in FOR_STRANGERS)


# The requests about rules


@pytest.fixture
def ruled(kafka: Kafka) -> Iterator[Sides]:
    """Kafka as its super user sees it, and ours, on which everybody is one."""
    settings = {"authorizer.class.name": STANDARD_AUTHORIZER, "super.users": "User:ANONYMOUS"}
    with Broker(settings) as ours:
        both = Sides(KnownSide(SUPER, kafka.peer.port), Side("Penstock", ours.port))
        yield both
        both.kafka.close()
        both.ours.close()


def creation(**values: Any) -> dict[str, Any]:
    return {**A_RULE, "principal": "User:maker", **values}


OURS_ONLY = {"principal_filter": "User:maker"}


def rules_of(side: Side, **values: Any) -> list[tuple[object, ...]]:
    """The maker's rules that a filter matches."""
    asked = {**FILTER, **OURS_ONLY, **values}
    found = side.ask_raw("DescribeAcls", 3, **asked).message
    return sorted(
        (each.resource_type, each.pattern_type, each.resource_name, *values_of(rule))
        for each in found.resources
        for rule in each.acls
    )


def values_of(rule: Any) -> tuple[object, ...]:
    return rule.principal, rule.host, rule.operation, rule.permission_type


def deleted(side: Side, *filters: dict[str, Any]) -> list[tuple[int, list[tuple[object, ...]]]]:
    answer = side.ask_raw("DeleteAcls", 3, filters=[{**FILTER, **OURS_ONLY, **each} for each in filters]).message
    return [
        (
            each.error_code,
            sorted(
                (one.resource_type, one.pattern_type, one.resource_name, *values_of(one)) for one in each.matching_acls
            ),
        )
        for each in answer.filter_results
    ]


FILTER: dict[str, Any] = {
    "resource_type_filter": 1,
    "resource_name_filter": None,
    "pattern_type_filter": 1,
    "principal_filter": None,
    "host_filter": None,
    "operation": 1,
    "permission_type": 1,
}
CREATIONS = [
    creation(),
    creation(),
    creation(resource_name="*"),
    creation(resource_name="e", resource_pattern_type=4),
    creation(resource_name="else", resource_pattern_type=4),
    creation(permission_type=2, host="10.0.0.1"),
    creation(resource_type=3, resource_name="group", operation=2),
    creation(resource_type=4, resource_name="kafka-cluster", operation=9),
    creation(resource_type=5, resource_name="txn", operation=15),
    creation(resource_type=6, resource_name="token", operation=8),
    creation(resource_type=7, resource_name="User:else", operation=13),
    creation(resource_type=4, resource_name="another"),
    creation(resource_type=99),
    creation(resource_name=""),
    creation(resource_pattern_type=99),
    creation(operation=99),
    creation(permission_type=99),
    creation(principal="maker"),
    creation(principal="User:"),
    creation(host=""),
    creation(operation=12),
]
FILTERS: list[dict[str, Any]] = [
    {},
    {"resource_type_filter": 2},
    {"resource_type_filter": 99},
    {"resource_name_filter": "else"},
    {"resource_name_filter": "else", "pattern_type_filter": 3},
    {"resource_name_filter": "else", "pattern_type_filter": 4},
    {"resource_name_filter": "else", "pattern_type_filter": 2},
    {"resource_name_filter": "*", "pattern_type_filter": 2},
    {"resource_name_filter": "", "pattern_type_filter": 2},
    {"resource_name_filter": "elsewhere", "pattern_type_filter": 2},
    {"pattern_type_filter": 4},
    {"pattern_type_filter": 99},
    {"host_filter": "10.0.0.1"},
    {"host_filter": "*"},
    {"operation": 3},
    {"operation": 99},
    {"permission_type": 2},
    {"principal_filter": "User:"},
]


def test_rules_are_made_found_and_deleted_alike(ruled: Sides) -> None:
    made = ruled.same("CreateAcls", 3, creations=CREATIONS)
    assert len({each["error_code"] for each in made["results"]}) == 2
    for asked in FILTERS:
        ruled.agree_soon(lambda side, asked=asked: rules_of(side, **asked))
    for asked in reversed(FILTERS):
        ruled.agree(lambda side, asked=asked: deleted(side, asked, asked))
    ruled.agree_soon(rules_of)


@pytest.mark.parametrize("name", ["resource_type", "resource_pattern_type", "operation", "permission_type"])
def test_who_says_unknown_is_hung_up_on(ruled: Sides, name: str) -> None:
    in_filter = {"resource_type": "resource_type_filter", "resource_pattern_type": "pattern_type_filter"}
    unknown = {**FILTER, in_filter.get(name, name): 0}
    ruled.same("CreateAcls", 3, creations=[creation(**{name: 0})])
    ruled.same("DescribeAcls", 3, **unknown)
    ruled.same("DeleteAcls", 3, filters=[unknown])


def test_without_an_authorizer_there_are_no_rules(sides: Sides) -> None:
    sides.same("CreateAcls", 3, creations=[creation(), creation()])
    sides.same("DescribeAcls", 3, **FILTER)
    sides.same("DeleteAcls", 3, filters=[FILTER, FILTER])
