"""Requests of which a part is allowed: both brokers give the same answer, to the last field."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from penstock.core.base.settings.authorizer_rules import STANDARD_AUTHORIZER
from tests.access.matrix import BATCH, IN_TRANSACTION
from tests.access.town import entry
from tests.conformance.beside_kafka.side import IdOf, Sides
from tests.conformance.beside_kafka.test_rights import KnownSide, entry_values, holds_group
from tests.conformance.security.nodes import PLAIN_MODULE, Nodes
from tests.kafka_peer import KafkaPeer
from tests.waiting import wait_until

pytestmark = [pytest.mark.java, pytest.mark.slow]

USERS = ("root", "ann")
JAAS = f'{PLAIN_MODULE} required username="root" password="root" ' + " ".join(f'user_{each}="{each}"' for each in USERS)
SASL = {
    "sasl.enabled.mechanisms": "PLAIN",
    "sasl.mechanism.inter.broker.protocol": "PLAIN",
    "sasl.mechanism.controller.protocol": "PLAIN",
    "listener.name.plaintext.plain.sasl.jaas.config": f"{JAAS};",
    "listener.name.controller.plain.sasl.jaas.config": f"{JAAS};",
    "listener.security.protocol.map": "PLAINTEXT:SASL_PLAINTEXT,CONTROLLER:SASL_PLAINTEXT",
    "authorizer.class.name": STANDARD_AUTHORIZER,
    "super.users": "User:root",
    "offsets.topic.num.partitions": "1",
}
ALLOWED = (
    "ALL TOPIC t",
    "DESCRIBE TOPIC seen",
    "ALL GROUP g",
    "ALL TRANSACTIONAL_ID x",
    "CREATE TOPIC mine",
)
"""Nothing about `hidden`, which is there, and `absent`, which is not."""
NAMES = ("t", "seen", "hidden", "absent")
THERE = NAMES[:3]


@pytest.fixture(scope="module")
def ann(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sides]:
    """Both brokers, as somebody sees them who may do some things."""
    ours = Nodes(
        tmp_path_factory.mktemp("partly"),
        {
            **SASL,
            "listeners": "PLAINTEXT://localhost:@,CONTROLLER://localhost:#",
            "inter.broker.listener.name": "PLAINTEXT",
        },
    )
    with KafkaPeer(properties=SASL) as kafka, ours:
        ours.wait()
        sides = [prepared("Kafka", kafka.port), prepared("Penstock", int(ours.bootstrap.split(":")[1]))]
        yield Sides(*sides)
        for side in sides:
            side.close()


def prepared(name: str, port: int) -> KnownSide:
    root = KnownSide("root", port)
    for topic in THERE:
        root.create(topic)
    wait_until(lambda: holds_group(root), what="a group")
    rules = [entry_values(entry("ann", each)) for each in ALLOWED]
    made = root.ask_raw("CreateAcls", 2, creations=rules).message
    assert not any(each.error_code for each in made.results)
    side = KnownSide("ann", port, root.ids)
    side.name = name
    wait_until(lambda: len(side.ask_raw("Metadata", 9, topics=None).message.topics) == 2, what="the rules")
    root.close()
    return side


def each_of(**values: Any) -> list[dict[str, Any]]:
    return [{"name": name, **values} for name in NAMES]


def offsets(**values: Any) -> list[dict[str, Any]]:
    return each_of(partitions=[{"partition_index": 0, **values}])


def by_ids(**values: Any) -> list[dict[str, Any]]:
    return [{"topic_id": IdOf(name), **values} for name in THERE]


def settings(names: tuple[str, ...] = NAMES, kind: int = 2, **values: Any) -> list[dict[str, Any]]:
    return [{"resource_type": kind, "resource_name": name, **values} for name in names]


RECORDS = [{"index": 0, "records": BATCH}]
TXN = {"producer_id": 7, "producer_epoch": 0}
ASKED: list[tuple[str, int, dict[str, Any]]] = [
    ("Metadata", 9, {"topics": each_of(), "include_topic_authorized_operations": True}),
    ("Metadata", 9, {"topics": None, "include_cluster_authorized_operations": True}),
    ("Metadata", 12, {"topics": [{"name": None, **each} for each in by_ids()]}),
    ("Metadata", 1, {"topics": each_of()}),
    ("Metadata", 0, {"topics": each_of()}),
    ("DescribeTopicPartitions", 0, {"topics": each_of(), "response_partition_limit": 100}),
    ("DescribeTopicPartitions", 0, {"topics": [], "response_partition_limit": 100}),
    ("DescribeCluster", 1, {"endpoint_type": 1, "include_cluster_authorized_operations": True}),
    ("Produce", 9, {"acks": -1, "timeout_ms": 1000, "topic_data": each_of(partition_data=RECORDS)}),
    ("Produce", 13, {"acks": -1, "timeout_ms": 1000, "topic_data": by_ids(partition_data=RECORDS)}),
    (
        "Produce",
        9,
        {
            "acks": -1,
            "timeout_ms": 1000,
            "transactional_id": "other",
            "topic_data": [{"name": "t", "partition_data": [{"index": 0, "records": IN_TRANSACTION}]}],
        },
    ),
    ("Fetch", 12, {"replica_id": -1, "session_epoch": -1, "max_bytes": 1000, "topics": [
        {"topic": name, "partitions": [{"partition": 0, "partition_max_bytes": 1000, "current_leader_epoch": -1}]}
        for name in NAMES
    ]}),
    ("Fetch", 13, {"replica_id": -1, "session_epoch": -1, "max_bytes": 1000, "topics": by_ids(
        partitions=[{"partition": 0, "partition_max_bytes": 1000, "current_leader_epoch": -1}])}),
    ("ListOffsets", 7, {"replica_id": -1, "topics": offsets(timestamp=-2)}),
    ("OffsetForLeaderEpoch", 4, {"replica_id": -2, "topics": [
        {"topic": name, "partitions": [{"partition": 0, "current_leader_epoch": -1, "leader_epoch": 0}]}
        for name in NAMES
    ]}),
    ("DescribeProducers", 0, {"topics": each_of(partition_indexes=[0])}),
    ("DeleteRecords", 2, {"timeout_ms": 1000, "topics": offsets(offset=0)}),
    ("OffsetCommit", 8, {"group_id": "g", "generation_id_or_member_epoch": -1, "topics": offsets(committed_offset=0)}),
    ("OffsetCommit", 8, {"group_id": "h", "generation_id_or_member_epoch": -1, "topics": offsets(committed_offset=0)}),
    ("OffsetCommit", 10, {"group_id": "g", "generation_id_or_member_epoch": -1, "topics": by_ids(
        partitions=[{"partition_index": 0, "committed_offset": 0}])}),
    ("OffsetFetch", 1, {"group_id": "h", "topics": each_of(partition_indexes=[0])}),
    ("OffsetFetch", 7, {"group_id": "g", "topics": each_of(partition_indexes=[0])}),
    ("OffsetFetch", 7, {"group_id": "h", "topics": each_of(partition_indexes=[0])}),
    ("OffsetFetch", 7, {"group_id": "g", "topics": None}),
    ("OffsetFetch", 8, {"groups": [
        {"group_id": group, "topics": each_of(partition_indexes=[0])} for group in ("g", "h")]}),
    ("OffsetFetch", 8, {"groups": [{"group_id": group, "topics": None} for group in ("g", "h")]}),
    ("OffsetFetch", 10, {"groups": [{"group_id": "g", "topics": by_ids(partition_indexes=[0])}]}),
    ("OffsetDelete", 0, {"group_id": "g", "topics": offsets()}),
    ("OffsetDelete", 0, {"group_id": "h", "topics": offsets()}),
    ("DescribeGroups", 5, {"groups": ["g", "h"], "include_authorized_operations": True}),
    ("ListGroups", 4, {}),
    ("DeleteGroups", 2, {"groups_names": ["h"]}),
    ("FindCoordinator", 4, {"key_type": 0, "coordinator_keys": ["g", "h"]}),
    ("FindCoordinator", 3, {"key_type": 0, "key": "h"}),
    ("JoinGroup", 5, {"group_id": "h", "session_timeout_ms": 6000, "member_id": "", "protocols": []}),
    ("SyncGroup", 4, {"group_id": "h", "member_id": "m"}),
    ("Heartbeat", 3, {"group_id": "h", "member_id": "m"}),
    ("LeaveGroup", 4, {"group_id": "h", "members": [{"member_id": "m", "group_instance_id": None}]}),
    ("DescribeConfigs", 4, {"resources": settings(configuration_keys=["cleanup.policy"])}),
    ("DescribeConfigs", 4, {"resources": settings(("1",), 4)}),
    ("AlterConfigs", 1, {"resources": settings(), "validate_only": True}),
    ("IncrementalAlterConfigs", 1, {"resources": settings(), "validate_only": True}),
    ("IncrementalAlterConfigs", 1, {"resources": settings(("1",), 8), "validate_only": True}),
    ("CreateTopics", 7, {"validate_only": True, "timeout_ms": 1000, "topics": [
        {"name": name, "num_partitions": 2, "replication_factor": 1} for name in ("mine", "another", "hidden")]}),
    ("DeleteTopics", 6, {"timeout_ms": 1000, "topics": [{"name": name} for name in ("seen", "hidden", "absent")]}),
    ("DeleteTopics", 6, {"timeout_ms": 1000, "topics": [{"name": None, **each} for each in by_ids()[1:]]}),
    ("DeleteTopics", 5, {"timeout_ms": 1000, "topic_names": ["seen", "hidden", "absent"]}),
    ("CreatePartitions", 3, {"validate_only": True, "timeout_ms": 1000, "topics": each_of(count=2, assignments=None)}),
    ("InitProducerId", 4, {"transactional_id": "other", "transaction_timeout_ms": 1000}),
    ("AddPartitionsToTxn", 3, {"v3_and_below_transactional_id": "x", "v3_and_below_producer_id": 7,
        "v3_and_below_topics": each_of(partitions=[0])}),
    ("AddPartitionsToTxn", 3, {"v3_and_below_transactional_id": "other", "v3_and_below_producer_id": 7,
        "v3_and_below_topics": each_of(partitions=[0])}),
    ("AddOffsetsToTxn", 3, {"transactional_id": "x", "group_id": "h", **TXN}),
    ("EndTxn", 3, {"transactional_id": "other", **TXN}),
    ("TxnOffsetCommit", 3, {"transactional_id": "x", "group_id": "h", "member_id": "", **TXN,
        "topics": offsets(committed_offset=0)}),
    ("DescribeTransactions", 0, {"transactional_ids": ["x", "other"]}),
    ("ListTransactions", 0, {}),
    ("WriteTxnMarkers", 1, {"markers": [{**TXN, "topics": each_of(partition_indexes=[0])}]}),
    ("DescribeLogDirs", 4, {"topics": None}),
    ("ListConfigResources", 1, {}),
    ("ElectLeaders", 2, {"topic_partitions": [{"topic": "t", "partitions": [0]}], "timeout_ms": 1000}),
    ("AlterPartitionReassignments", 0, {"timeout_ms": 1000, "topics": []}),
    ("ListPartitionReassignments", 0, {"topics": None, "timeout_ms": 1000}),
    ("DescribeQuorum", 1, {"topics": []}),
    ("UnregisterBroker", 0, {"broker_id": 99}),
    ("UpdateFeatures", 1, {"feature_updates": [{"feature": "nonsense", "max_version_level": 1}], "timeout_ms": 1000}),
    ("DescribeUserScramCredentials", 0, {"users": []}),
    ("AlterUserScramCredentials", 0, {"deletions": [{"name": "absent", "mechanism": 1}], "upsertions": []}),
    ("DescribeClientQuotas", 1, {"components": []}),
    ("AlterClientQuotas", 1, {"entries": [{"entity": [{"entity_type": "user", "entity_name": "a"}], "ops": []}]}),
    ("DescribeAcls", 2, {"resource_type_filter": 1, "pattern_type_filter": 1, "operation": 1, "permission_type": 1}),
    ("CreateAcls", 2, {"creations": [entry_values(entry("ann", "ALL CLUSTER"))] * 2}),
    ("AddRaftVoter", 0, {"cluster_id": None, "timeout_ms": 1000, "voter_id": 99}),
    ("RemoveRaftVoter", 0, {"cluster_id": None, "voter_id": 99}),
]  # fmt: skip


@pytest.mark.parametrize(
    "number", range(len(ASKED)), ids=lambda number: f"{number} {ASKED[number][0]} {ASKED[number][1]}"
)
def test_both_say_the_same(ann: Sides, number: int) -> None:
    api, version, values = ASKED[number]
    ann.same(api, version, **values)
