"""Which right each request needs, beside Kafka's table: a row for each API and each kind of thing in it.

A row says what is asked, which rights that takes, and what whoever lacks one of them hears. Who has all of them hears
no word of rights; neither does a super user. What a request does then does not matter here, so it mostly asks for what
cannot be. `tests/access/test_matrix.py` tries the rows on a node alone, at each kind of listener (`kinds`),
`tests/conformance/beside_kafka/test_rights.py` on Apache Kafka.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from penstock.core.base.errors import ErrorCode
from penstock.core.records.build import build_batch
from penstock.core.wire.api.create_acls import AclCreation
from penstock.core.wire.refusals import codes_in
from tests.access.town import SUPER, entry
from tests.conformance.beside_kafka.side import IdOf

TOPIC_FAILED: Final = ErrorCode.TOPIC_AUTHORIZATION_FAILED
GROUP_FAILED: Final = ErrorCode.GROUP_AUTHORIZATION_FAILED
CLUSTER_FAILED: Final = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
TXN_FAILED: Final = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
TOKEN_FAILED: Final = ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED
FAILURES: Final = frozenset((TOPIC_FAILED, GROUP_FAILED, CLUSTER_FAILED, TXN_FAILED, TOKEN_FAILED))

BATCH: Final = bytes(build_batch([(None, b"v", (), 1_700_000_000_000)]))
IN_TRANSACTION: Final = bytes(
    build_batch(
        [(None, b"v", (), 1_700_000_000_000)], producer_id=7, producer_epoch=0, base_sequence=0, transactional=True
    )
)
T: Final = "t"
TOPICS: Final = (T, "doomed", "doomed-by-id")
"""Topics with one partition each, which are there; so are a group `g` and a share group `s`. No transactional id
is `x`."""
MEMBER_OF_S: Final = {"group_id": "s", "member_id": "m"}
JOIN_S: Final = {**MEMBER_OF_S, "member_epoch": 0, "subscribed_topic_names": ["absent"]}
LEAVE_S: Final = {**MEMBER_OF_S, "member_epoch": -1}
"""What a member of `s` says, so that there is a group, and nobody in it."""


class Right(NamedTuple):
    """`WRITE TOPIC t`, and what who lacks it hears."""

    text: str
    failure: ErrorCode


class Row(NamedTuple):
    """A request, and what it needs. `told` looks at what an answer names, where that depends on rights: who has none is
    told nothing."""

    api: str
    version: int
    needs: tuple[Right, ...]
    values: Mapping[str, Any]
    told: Callable[[Any], object] | None = None
    on_controller: bool = False

    @property
    def label(self) -> str:
        return f"{self.api} {self.version} {' and '.join(each.text for each in self.needs) or 'nothing'}"


def row(api: str, version: int, needs: str, /, told: Callable[[Any], object] | None = None, **values: Any) -> Row:
    """`needs` has rights with commas between them."""
    texts = [each.strip() for each in needs.split(",") if each.strip()]
    return Row(api, version, tuple(Right(each, FAILURE_OF[each.split()[1]]) for each in texts), values, told)


def share_state(**fields: Any) -> dict[str, Any]:
    """What coordinators and leaders ask share coordinators about."""
    return {
        "group_id": "g",
        "topics": [{"topic_id": b"n" * 16, "partitions": [{"partition": 0, **fields}]}],
    }


def among_controllers(api: str, version: int, **values: Any) -> Row:
    """What only nodes ask each other."""
    return row(api, version, "CLUSTER_ACTION CLUSTER", **values)._replace(on_controller=True)


FAILURE_OF: Final = {
    "TOPIC": TOPIC_FAILED,
    "GROUP": GROUP_FAILED,
    "CLUSTER": CLUSTER_FAILED,
    "TRANSACTIONAL_ID": TXN_FAILED,
    "USER": TOKEN_FAILED,
}


def heard(answer: Any) -> set[ErrorCode]:
    """Which words of rights an answer has."""
    return {ErrorCode(code) for code in codes_in(answer)} & FAILURES


def produced(batch: bytes) -> list[dict[str, Any]]:
    return [{"name": T, "partition_data": [{"index": 0, "records": batch}]}]


def fetched(**partition: Any) -> list[dict[str, Any]]:
    return [{"topic": T, "partitions": [{"partition": 0, "partition_max_bytes": 1000, **partition}]}]


def committed(**partition: Any) -> list[dict[str, Any]]:
    return [{"name": T, "partitions": [{"partition_index": 0, "committed_offset": 0, **partition}]}]


ANYTHING: Final = {"resource_type_filter": 2, "pattern_type_filter": 3, "operation": 1, "permission_type": 1}
NOBODYS: Final = {
    "resource_name_filter": "nobody",
    "principal_filter": None,
    "host_filter": None,
}
A_RULE: Final = {
    "resource_type": 2,
    "resource_name": "else",
    "resource_pattern_type": 3,
    "principal": "User:else",
    "host": "*",
    "operation": 3,
    "permission_type": 3,
}
NOWHERE: Final = {"topic_name": "__cluster_metadata", "partitions": []}
TXN: Final = {"transactional_id": "x", "producer_id": 7, "producer_epoch": 0}
OLD_TXN: Final = {f"v3_and_below_{name}": value for name, value in TXN.items()}
DESCRIBED_T: Final = "DESCRIBE TOPIC t"


def topic_names(answer: Any) -> list[str]:
    return [topic.name for topic in answer.topics if topic.name == T]


def settings_of(resource_type: int, name: str) -> list[dict[str, Any]]:
    return [{"resource_type": resource_type, "resource_name": name}]


TOPIC_KIND, BROKER_KIND, LOGGER_KIND, GROUP_KIND = 2, 4, 8, 32

ROWS: Final = (
    # Records
    row("Produce", 9, "WRITE TOPIC t", acks=1, timeout_ms=1000, topic_data=produced(BATCH)),
    row("Produce", 9, "WRITE TRANSACTIONAL_ID x, WRITE TOPIC t", acks=-1, timeout_ms=1000, transactional_id="x",
        topic_data=produced(IN_TRANSACTION)),
    row("Produce", 9, "WRITE TOPIC absent", acks=1, timeout_ms=1000,
        topic_data=[{"name": "absent", "partition_data": [{"index": 0, "records": BATCH}]}]),
    row("Fetch", 12, "READ TOPIC t", replica_id=-1, session_epoch=-1, topics=fetched()),
    row("Fetch", 12, "READ TOPIC absent", replica_id=-1, session_epoch=-1,
        topics=[{"topic": "absent", "partitions": [{"partition": 0}]}]),
    row("Produce", 13, "WRITE TOPIC t", acks=1, timeout_ms=1000,
        topic_data=[{"topic_id": IdOf(T), "partition_data": [{"index": 0, "records": BATCH}]}]),
    row("Fetch", 13, "READ TOPIC t", replica_id=-1, session_epoch=-1,
        topics=[{"topic_id": IdOf(T), "partitions": [{"partition": 0, "partition_max_bytes": 1000}]}]),
    row("ListOffsets", 7, DESCRIBED_T, replica_id=-1,
        topics=[{"name": T, "partitions": [{"partition_index": 0, "timestamp": -1}]}]),
    row("ListOffsets", 7, "DESCRIBE TOPIC absent", replica_id=-1,
        topics=[{"name": "absent", "partitions": [{"partition_index": 0, "timestamp": -1}]}]),
    row("DeleteRecords", 2, "DELETE TOPIC t", timeout_ms=1000,
        topics=[{"name": T, "partitions": [{"partition_index": 0, "offset": 0}]}]),
    row("OffsetForLeaderEpoch", 4, DESCRIBED_T, replica_id=-2,
        topics=[{"topic": T, "partitions": [{"partition": 0, "current_leader_epoch": -1, "leader_epoch": 0}]}]),
    row("DescribeProducers", 0, "READ TOPIC t", topics=[{"name": T, "partition_indexes": [0]}]),
    # Who asks
    row("SaslHandshake", 1, "", mechanism="PLAIN"),
    row("SaslAuthenticate", 2, "", auth_bytes=b""),
    # What there is
    row("ApiVersions", 3, "", client_software_name="test", client_software_version="1"),
    row("GetTelemetrySubscriptions", 0, "", client_instance_id=bytes(16)),
    row("PushTelemetry", 0, "", client_instance_id=b"c" * 16),
    row("Metadata", 9, DESCRIBED_T, topics=[{"name": T}], allow_auto_topic_creation=False),
    row("Metadata", 12, DESCRIBED_T, topics=[{"name": None, "topic_id": IdOf(T)}]),
    row("Metadata", 9, "DESCRIBE TOPIC absent", topics=[{"name": "absent"}], allow_auto_topic_creation=False),
    row("Metadata", 9, "DESCRIBE TOPIC born, CREATE TOPIC born", topics=[{"name": "born"}],
        allow_auto_topic_creation=True),
    row("Metadata", 9, "DESCRIBE TOPIC sibling, CREATE CLUSTER", topics=[{"name": "sibling"}],
        allow_auto_topic_creation=True)._replace(
        needs=(Right("DESCRIBE TOPIC sibling", TOPIC_FAILED), Right("CREATE CLUSTER", TOPIC_FAILED))),
    row("Metadata", 9, DESCRIBED_T, topic_names, topics=None),
    row("Metadata", 0, DESCRIBED_T, topics=[{"name": T}]),
    row("DescribeTopicPartitions", 0, DESCRIBED_T, topics=[{"name": T}], response_partition_limit=100),
    row("DescribeTopicPartitions", 0, DESCRIBED_T, topic_names, topics=[], response_partition_limit=100),
    row("DescribeCluster", 1, "DESCRIBE CLUSTER", lambda answer: answer.cluster_authorized_operations or [],
        endpoint_type=1, include_cluster_authorized_operations=True),
    row("DescribeLogDirs", 4, "DESCRIBE CLUSTER", topics=None),
    row("DescribeQuorum", 1, "DESCRIBE CLUSTER",
        topics=[{"topic_name": "__cluster_metadata", "partitions": [{"partition_index": 0}]}]),
    # Topics and settings
    row("CreateTopics", 7, "CREATE TOPIC made", validate_only=True, timeout_ms=1000,
        topics=[{"name": "made", "num_partitions": 1, "replication_factor": 1}]),
    row("CreateTopics", 7, "CREATE CLUSTER", validate_only=True, timeout_ms=1000,
        topics=[{"name": "made-too", "num_partitions": 1, "replication_factor": 1}])._replace(
        needs=(Right("CREATE CLUSTER", TOPIC_FAILED),)),
    row("DeleteTopics", 6, "DELETE TOPIC doomed", topics=[{"name": "doomed"}], timeout_ms=1000),
    row("DeleteTopics", 6, "DELETE TOPIC doomed-by-id", topics=[{"name": None, "topic_id": IdOf("doomed-by-id")}],
        timeout_ms=1000),
    row("DeleteTopics", 6, "DELETE CLUSTER", topics=[{"name": "absent"}], timeout_ms=1000)._replace(
        needs=(Right("DELETE CLUSTER", TOPIC_FAILED),)),
    row("DeleteTopics", 5, "DESCRIBE TOPIC absent", topic_names=["absent"], timeout_ms=1000),
    row("CreatePartitions", 3, "ALTER TOPIC t", topics=[{"name": T, "count": 2, "assignments": None}],
        validate_only=True, timeout_ms=1000),
    row("DescribeConfigs", 4, "DESCRIBE_CONFIGS TOPIC t", resources=settings_of(TOPIC_KIND, T)),
    row("DescribeConfigs", 4, "DESCRIBE_CONFIGS CLUSTER", resources=settings_of(BROKER_KIND, "1")),
    row("DescribeConfigs", 4, "DESCRIBE_CONFIGS CLUSTER", resources=settings_of(LOGGER_KIND, "1")),
    row("DescribeConfigs", 4, "DESCRIBE_CONFIGS GROUP g", resources=settings_of(GROUP_KIND, "g")),
    row("AlterConfigs", 1, "ALTER_CONFIGS TOPIC t", resources=settings_of(TOPIC_KIND, T), validate_only=True),
    row("IncrementalAlterConfigs", 1, "ALTER_CONFIGS TOPIC t", resources=settings_of(TOPIC_KIND, T),
        validate_only=True),
    row("IncrementalAlterConfigs", 1, "ALTER_CONFIGS CLUSTER", resources=settings_of(BROKER_KIND, "1"),
        validate_only=True),
    row("IncrementalAlterConfigs", 1, "ALTER_CONFIGS CLUSTER", resources=settings_of(LOGGER_KIND, "1"),
        validate_only=True),
    row("IncrementalAlterConfigs", 1, "ALTER_CONFIGS GROUP g", resources=settings_of(GROUP_KIND, "g"),
        validate_only=True),
    row("ListConfigResources", 1, "DESCRIBE_CONFIGS CLUSTER"),
    # Groups
    row("FindCoordinator", 3, "DESCRIBE GROUP g", key="g", key_type=0),
    row("FindCoordinator", 4, "DESCRIBE GROUP g", coordinator_keys=["g"], key_type=0),
    row("FindCoordinator", 4, "DESCRIBE TRANSACTIONAL_ID x", coordinator_keys=["x"], key_type=1),
    row("FindCoordinator", 6, "CLUSTER_ACTION CLUSTER", coordinator_keys=["g:AAAAAAAAAAAAAAAAAAAAAQ:0"], key_type=2),
    row("JoinGroup", 5, "READ GROUP g", group_id="g", session_timeout_ms=6000, rebalance_timeout_ms=6000, member_id="m",
        protocol_type="consumer", protocols=[{"name": "range", "metadata": b""}]),
    row("SyncGroup", 4, "READ GROUP g", group_id="g", generation_id=1, member_id="m"),
    row("Heartbeat", 3, "READ GROUP g", group_id="g", generation_id=1, member_id="m"),
    row("LeaveGroup", 4, "READ GROUP g", group_id="g", members=[{"member_id": "m", "group_instance_id": None}]),
    row("OffsetCommit", 8, "READ GROUP g, READ TOPIC t", group_id="g", generation_id_or_member_epoch=-1,
        topics=committed()),
    row("OffsetFetch", 7, "DESCRIBE GROUP g, DESCRIBE TOPIC t", group_id="g",
        topics=[{"name": T, "partition_indexes": [0]}]),
    row("OffsetFetch", 8, "DESCRIBE GROUP g, DESCRIBE TOPIC t",
        groups=[{"group_id": "g", "topics": [{"name": T, "partition_indexes": [0]}]}]),
    row("OffsetCommit", 10, "READ GROUP g, READ TOPIC t", group_id="g", generation_id_or_member_epoch=-1,
        topics=[{"topic_id": IdOf(T), "partitions": [{"partition_index": 0, "committed_offset": 0}]}]),
    row("OffsetFetch", 10, "DESCRIBE GROUP g, DESCRIBE TOPIC t",
        groups=[{"group_id": "g", "topics": [{"topic_id": IdOf(T), "partition_indexes": [0]}]}]),
    row("OffsetFetch", 8, "DESCRIBE GROUP g", groups=[{"group_id": "g", "topics": None}]),
    row("OffsetDelete", 0, "DELETE GROUP g, READ TOPIC t", group_id="g",
        topics=[{"name": T, "partitions": [{"partition_index": 0}]}]),
    row("DescribeGroups", 5, "DESCRIBE GROUP g", groups=["g"]),
    row("ConsumerGroupHeartbeat", 0, "READ GROUP g, DESCRIBE TOPIC t", group_id="g", member_id="m", member_epoch=0,
        rebalance_timeout_ms=6000, subscribed_topic_names=[T], server_assignor="none", topic_partitions=[]),
    row("ConsumerGroupDescribe", 0, "DESCRIBE GROUP g", group_ids=["g"]),
    row("ListGroups", 4, "DESCRIBE GROUP g", lambda answer: [each.group_id for each in answer.groups]),
    row("ListGroups", 4, "DESCRIBE CLUSTER", lambda answer: [each.group_id for each in answer.groups]),
    row("DeleteGroups", 2, "DELETE GROUP absent", groups_names=["absent"]),
    # Share groups, and their state
    row("ShareGroupHeartbeat", 1, "READ GROUP g, DESCRIBE TOPIC t", group_id="g", member_id="m", member_epoch=-2,
        subscribed_topic_names=[T]),
    row("ShareGroupDescribe", 1, "DESCRIBE GROUP g", group_ids=["g"]),
    row("DescribeShareGroupOffsets", 1, "DESCRIBE GROUP g, DESCRIBE TOPIC t",
        groups=[{"group_id": "g", "topics": [{"topic_name": T, "partitions": [0]}]}]),
    row("AlterShareGroupOffsets", 0, "READ GROUP s, READ TOPIC t", group_id="s",
        topics=[{"topic_name": T, "partitions": [{"partition_index": 9, "start_offset": 0}]}]),
    row("DeleteShareGroupOffsets", 0, "DELETE GROUP s, READ TOPIC t", group_id="s", topics=[{"topic_name": T}]),
    row("ShareFetch", 1, "READ GROUP g, READ TOPIC t", group_id="g", member_id="m", share_session_epoch=0,
        max_wait_ms=0, max_records=1, topics=[{"topic_id": IdOf(T), "partitions": [{"partition_index": 0}]}]),
    row("ShareAcknowledge", 1, "READ GROUP g", group_id="g", member_id="m", share_session_epoch=-1, topics=[]),
    row("StreamsGroupHeartbeat", 0, "READ GROUP g, DESCRIBE TOPIC t", group_id="g", member_id="m", member_epoch=-2,
        topology={"epoch": 0, "subtopologies": [{"subtopology_id": "0", "source_topics": [T]}]}),
    row("StreamsGroupDescribe", 0, "DESCRIBE GROUP g", group_ids=["g"]),
    row("InitializeShareGroupState", 0, "CLUSTER_ACTION CLUSTER", **share_state(state_epoch=0, start_offset=0)),
    row("ReadShareGroupState", 0, "CLUSTER_ACTION CLUSTER", **share_state(leader_epoch=0)),
    row("WriteShareGroupState", 1, "CLUSTER_ACTION CLUSTER",
        **share_state(state_epoch=0, leader_epoch=0, start_offset=0, state_batches=[])),
    row("DeleteShareGroupState", 0, "CLUSTER_ACTION CLUSTER", **share_state()),
    row("ReadShareGroupStateSummary", 1, "CLUSTER_ACTION CLUSTER", **share_state(leader_epoch=0)),
    # Transactions
    row("InitProducerId", 4, "IDEMPOTENT_WRITE CLUSTER", transactional_id=None, transaction_timeout_ms=1000),
    row("InitProducerId", 4, "WRITE TOPIC t", transactional_id=None, transaction_timeout_ms=1000)._replace(
        needs=(Right("WRITE TOPIC t", CLUSTER_FAILED),)),
    row("InitProducerId", 4, "WRITE TRANSACTIONAL_ID x", transactional_id="x", transaction_timeout_ms=1000),
    row("InitProducerId", 6, "WRITE TRANSACTIONAL_ID x, TWO_PHASE_COMMIT TRANSACTIONAL_ID x", transactional_id="x",
        transaction_timeout_ms=1000, enable2_pc=True),
    row("AddPartitionsToTxn", 3, "WRITE TRANSACTIONAL_ID x, WRITE TOPIC t", **OLD_TXN,
        v3_and_below_topics=[{"name": T, "partitions": [0]}]),
    row("AddPartitionsToTxn", 4, "CLUSTER_ACTION CLUSTER",
        transactions=[{**TXN, "topics": [{"name": T, "partitions": [0]}]}]),
    row("AddOffsetsToTxn", 3, "WRITE TRANSACTIONAL_ID x, READ GROUP g", **TXN, group_id="g"),
    row("TxnOffsetCommit", 3, "WRITE TRANSACTIONAL_ID x, READ GROUP g, READ TOPIC t", **TXN, group_id="g", member_id="",
        topics=committed()),
    row("EndTxn", 3, "WRITE TRANSACTIONAL_ID x", **TXN),
    row("DescribeTransactions", 0, "DESCRIBE TRANSACTIONAL_ID x", transactional_ids=["x"]),
    row("ListTransactions", 0, "DESCRIBE TRANSACTIONAL_ID held",
        lambda answer: "held" in [each.transactional_id for each in answer.transaction_states]),
    row("WriteTxnMarkers", 1, "CLUSTER_ACTION CLUSTER",
        markers=[{"producer_id": 7, "producer_epoch": 0, "topics": [{"name": T, "partition_indexes": [9]}]}]),
    row("WriteTxnMarkers", 1, "ALTER CLUSTER",
        markers=[{"producer_id": 7, "producer_epoch": 0, "topics": [{"name": T, "partition_indexes": [9]}]}]),
    # The cluster
    row("DescribeAcls", 2, "DESCRIBE CLUSTER", **ANYTHING, **NOBODYS),
    row("CreateAcls", 2, "ALTER CLUSTER", creations=[A_RULE]),
    row("DeleteAcls", 2, "ALTER CLUSTER", filters=[{**ANYTHING, **NOBODYS}]),
    row("ElectLeaders", 2, "ALTER CLUSTER", topic_partitions=[{"topic": T, "partitions": [0]}], timeout_ms=1000),
    row("AlterPartitionReassignments", 0, "ALTER CLUSTER", timeout_ms=1000,
        topics=[{"name": T, "partitions": [{"partition_index": 9, "replicas": None}]}]),
    row("ListPartitionReassignments", 0, "DESCRIBE CLUSTER", topics=None, timeout_ms=1000),
    row("UpdateFeatures", 1, "ALTER CLUSTER", timeout_ms=1000, validate_only=True,
        feature_updates=[{"feature": "nonsense", "max_version_level": 1, "upgrade_type": 1}]),
    row("DescribeUserScramCredentials", 0, "DESCRIBE CLUSTER", users=[{"name": "absent"}]),
    row("AlterUserScramCredentials", 0, "ALTER CLUSTER", deletions=[{"name": "absent", "mechanism": 1}], upsertions=[]),
    row("CreateDelegationToken", 3, "CREATE_TOKENS USER User:other", owner_principal_type="User",
        owner_principal_name="other", renewers=[], max_lifetime_ms=-1),
    row("RenewDelegationToken", 2, "", hmac=b"absent", renew_period_ms=1),
    row("ExpireDelegationToken", 2, "", hmac=b"absent", expiry_time_period_ms=1),
    row("DescribeDelegationToken", 3, "", owners=[]),
    row("DescribeClientQuotas", 1, "DESCRIBE_CONFIGS CLUSTER",
        components=[{"entity_type": "user", "match_type": 0, "match": "absent"}]),
    row("AlterClientQuotas", 1, "ALTER_CONFIGS CLUSTER", validate_only=True,
        entries=[{"entity": [{"entity_type": "user", "entity_name": "absent"}],
                  "ops": [{"key": "producer_byte_rate", "value": 1.0, "remove": False}]}]),
    row("UnregisterBroker", 0, "ALTER CLUSTER", broker_id=99),
    row("AddRaftVoter", 0, "ALTER CLUSTER", cluster_id="another", timeout_ms=1000, voter_id=99),
    row("RemoveRaftVoter", 0, "ALTER CLUSTER", cluster_id="another", voter_id=99),
    # Between nodes
    row("Fetch", 12, "CLUSTER_ACTION CLUSTER", replica_id=1, session_epoch=-1, topics=fetched())._replace(
        needs=(Right("CLUSTER_ACTION CLUSTER", TOPIC_FAILED),)),
    row("OffsetForLeaderEpoch", 4, "CLUSTER_ACTION CLUSTER", replica_id=1,
        topics=[{"topic": T, "partitions": [{"partition": 0, "current_leader_epoch": -1, "leader_epoch": 0}]}],
        )._replace(needs=(Right("CLUSTER_ACTION CLUSTER", TOPIC_FAILED),)),
    among_controllers("Fetch", 12, cluster_id="another", replica_id=99, session_epoch=-1,
        topics=[{"topic": "__cluster_metadata", "partitions": [{"partition": 0}]}]),
    among_controllers("FetchSnapshot", 0, cluster_id="another", topics=[]),
    among_controllers("Vote", 1, cluster_id="another", topics=[NOWHERE]),
    among_controllers("BeginQuorumEpoch", 1, cluster_id="another", topics=[NOWHERE]),
    among_controllers("EndQuorumEpoch", 1, cluster_id="another", topics=[NOWHERE]),
    among_controllers("UpdateRaftVoter", 0, cluster_id="another", voter_id=99,
        k_raft_version_feature={"min_supported_version": 0, "max_supported_version": 1}),
    among_controllers("AlterPartition", 2, broker_id=99),
    among_controllers("BrokerRegistration", 1, broker_id=99, cluster_id="another", rack=None),
    among_controllers("BrokerHeartbeat", 0, broker_id=99),
    among_controllers("ControllerRegistration", 0, controller_id=99),
    among_controllers("AllocateProducerIds", 0, broker_id=99),
    among_controllers("AssignReplicasToDirs", 0, broker_id=99),
    among_controllers("Envelope", 0, request_data=b"", request_principal=b"", client_host_address=b""),
)  # fmt: skip


FOR_STRANGERS: Final = frozenset(("ApiVersions", "SaslHandshake"))
"""What is answered before it is known who asks; SaslAuthenticate is, behind a handshake. Everything else closes the
connection, whichever kind of listener it came to."""


class Asker(NamedTuple):
    """Somebody, and what is expected of his answer: a failure, or none."""

    name: str
    rights: tuple[Right, ...]
    failure: ErrorCode | None


def askers(number: int) -> list[Asker]:
    """Those who ask a row's request, in this order: nobody in particular, who lacks one right, who has exactly those
    that it needs, a super user."""
    needs = ROWS[number].needs
    found = [Asker("nobody", (), needs[0].failure if needs else None)]
    if len(needs) > 1:
        for at, lacked in enumerate(needs):
            rest = tuple(each for each in needs if each is not lacked)
            found.append(Asker(f"row{number}-without{at}", rest, lacked.failure))
    return [*found, Asker(f"row{number}", needs, None), Asker(SUPER, (), None)]


def entries() -> list[AclCreation]:
    """The rules that everybody has his rights by."""
    return [
        entry(asker.name, right.text)
        for number in range(len(ROWS))
        for asker in askers(number)
        for right in asker.rights
    ]


def judge(row: Row, asker: Asker, answer: Any) -> None:
    """Whether an answer is what was expected."""
    if row.told is None:
        expected = set() if asker.failure is None else {asker.failure}
        assert heard(answer) == expected, (row.label, asker.name, answer)
    else:
        assert not heard(answer), (row.label, asker.name, answer)
        assert bool(row.told(answer)) == (asker.failure is None), (row.label, asker.name, answer)
