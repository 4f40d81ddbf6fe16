"""Which message goes into which module."""

from tools.wiregen.definitions import Definition
from tools.wiregen.render import Module, snake_case

STORED = {
    "classic_group": (
        "Classic groups and committed offsets, as `__consumer_offsets` keeps them.",
        ("OffsetCommit*", "LegacyOffsetCommit*", "GroupMetadata*"),
    ),
    "consumer_group": (
        "Groups whose assignment the coordinator makes, as `__consumer_offsets` keeps them.",
        (
            "ConsumerGroupMetadata*",
            "ConsumerGroupMemberMetadata*",
            "ConsumerGroupPartitionMetadata*",
            "ConsumerGroupTargetAssignmentMetadata*",
            "ConsumerGroupTargetAssignmentMember*",
            "ConsumerGroupCurrentMemberAssignment*",
            "ConsumerGroupRegularExpression*",
        ),
    ),
    "share_group": (
        "Share groups, as `__consumer_offsets` keeps them.",
        (
            "ShareGroupMetadata*",
            "ShareGroupMemberMetadata*",
            "ShareGroupTargetAssignmentMetadata*",
            "ShareGroupTargetAssignmentMember*",
            "ShareGroupCurrentMemberAssignment*",
            "ShareGroupStatePartitionMetadata*",
        ),
    ),
    "streams_group": (
        "Groups of streams applications, as `__consumer_offsets` keeps them.",
        (
            "StreamsGroupMetadata*",
            "StreamsGroupMemberMetadata*",
            "StreamsGroupTopology*",
            "StreamsGroupTargetAssignmentMetadata*",
            "StreamsGroupTargetAssignmentMember*",
            "StreamsGroupCurrentMemberAssignment*",
        ),
    ),
    "transaction_log": (
        "Transactions, as `__transaction_state` keeps them.",
        ("TransactionLog*",),
    ),
    "share_state": (
        "What a share group has acknowledged of a partition, as `__share_group_state` keeps it.",
        ("ShareSnapshot*", "ShareUpdate*"),
    ),
    "cluster_metadata": (
        "The records of `__cluster_metadata`, told apart by their `TYPE`.",
        (
            "RegisterBrokerRecord",
            "UnregisterBrokerRecord",
            "TopicRecord",
            "PartitionRecord",
            "ConfigRecord",
            "PartitionChangeRecord",
            "AccessControlEntryRecord",
            "FenceBrokerRecord",
            "UnfenceBrokerRecord",
            "RemoveTopicRecord",
            "DelegationTokenRecord",
            "UserScramCredentialRecord",
            "FeatureLevelRecord",
            "ClientQuotaRecord",
            "ProducerIdsRecord",
            "RemoveAccessControlEntryRecord",
            "BrokerRegistrationChangeRecord",
            "NoOpRecord",
            "ZkMigrationStateRecord",
            "RemoveUserScramCredentialRecord",
            "BeginTransactionRecord",
            "EndTransactionRecord",
            "AbortTransactionRecord",
            "RemoveDelegationTokenRecord",
            "RegisterControllerRecord",
            "ClearElrRecord",
        ),
    ),
    "quorum": (
        "Control records of a Raft log, and the state a voter keeps in its file.",
        (
            "LeaderChangeMessage",
            "SnapshotHeaderRecord",
            "SnapshotFooterRecord",
            "KRaftVersionRecord",
            "VotersRecord",
            "QuorumStateData",
        ),
    ),
    "control_record": (
        "Control records that end transactions: the type in the key, the marker in the value.",
        ("ControlRecordTypeSchema", "EndTxnMarker"),
    ),
    "consumer_protocol": (
        "What consumers tell each other through the coordinator of a classic group.",
        ("ConsumerProtocolSubscription", "ConsumerProtocolAssignment"),
    ),
    "principal": (
        "A principal as a broker forwards it to the controller.",
        ("DefaultPrincipalData",),
    ),
    "producer_snapshot": (
        "The state of idempotent producers, as a log's snapshot files keep it.",
        ("ProducerSnapshot",),
    ),
    "remote_log": (
        "Segments in an object store, as `__remote_log_metadata` keeps them.",
        (
            "RemoteLogSegmentMetadataRecord",
            "RemoteLogSegmentMetadataUpdateRecord",
            "RemotePartitionDeleteMetadataRecord",
            "RemoteLogSegmentMetadataSnapshotRecord",
        ),
    ),
}
"""Modules of stored records: what each holds. A star stands for the pair of Key and Value."""

HEADERS = {"RequestHeader", "ResponseHeader"}
"""`frames` reads and writes headers by itself: the client id keeps its old form in every version."""


def api_modules(definitions: dict[str, Definition]) -> list[Module]:
    requests = [definition for definition in definitions.values() if definition.type == "request"]
    return [
        _api_module(request, definitions[request.name.removesuffix("Request") + "Response"])
        for request in sorted(requests, key=lambda request: request.api_key or 0)
    ]


def _api_module(request: Definition, response: Definition) -> Module:
    assert request.api_key == response.api_key, request.name
    assert request.versions == response.versions, request.name
    assert request.flexible == response.flexible, request.name
    name = request.name.removesuffix("Request")
    facts = [f"API key {request.api_key}", _versions(request), _flexible(request)]
    if request.latest_unstable:
        facts.append(f"version {request.versions.last} is not yet stable")
    text = f"{name}: {', '.join(facts)}; for {' and '.join(f'{role}s' for role in sorted(request.listeners))}."
    return Module(snake_case(name), text, [request, response])


def _versions(definition: Definition) -> str:
    first, last = definition.versions.first, definition.versions.last
    return f"version {first}" if first == last else f"versions {first} to {last}"


def _flexible(definition: Definition) -> str:
    return f"flexible from {definition.flexible.first}" if definition.flexible else "never flexible"


def stored_modules(definitions: dict[str, Definition]) -> list[Module]:
    wanted = {name for name, definition in definitions.items() if definition.type not in ("request", "response")}
    modules = []
    for module, (docstring, patterns) in STORED.items():
        names = [name for pattern in patterns for name in _expand(pattern)]
        modules.append(Module(module, docstring, [definitions[name] for name in names]))
        wanted -= set(names)
    assert wanted == HEADERS, f"no module for {wanted - HEADERS}"
    return modules


def _expand(pattern: str) -> list[str]:
    return [pattern[:-1] + "Key", pattern[:-1] + "Value"] if pattern.endswith("*") else [pattern]
