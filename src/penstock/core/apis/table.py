"""The table of APIs: what this node advertises and serves is exactly what has a file here."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from penstock.core.base.ports import Entropy, Files, Network
from penstock.core.base.settings import BrokerSettings
from penstock.core.node.node import Node
from penstock.core.node.slots import Api

_MODULES = (
    "produce",
    "fetch",
    "list_offsets",
    "metadata",
    "offset_commit",
    "offset_fetch",
    "find_coordinator",
    "join_group",
    "heartbeat",
    "leave_group",
    "sync_group",
    "describe_groups",
    "list_groups",
    "api_versions",
    "create_topics",
    "delete_topics",
    "delete_records",
    "init_producer_id",
    "offset_for_leader_epoch",
    "describe_configs",
    "alter_configs",
    "describe_log_dirs",
    "create_partitions",
    "delete_groups",
    "elect_leaders",
    "incremental_alter_configs",
    "alter_partition_reassignments",
    "list_partition_reassignments",
    "offset_delete",
    "vote",
    "begin_quorum_epoch",
    "end_quorum_epoch",
    "describe_quorum",
    "alter_partition",
    "update_features",
    "envelope",
    "fetch_snapshot",
    "describe_cluster",
    "describe_producers",
    "broker_registration",
    "broker_heartbeat",
    "unregister_broker",
    "allocate_producer_ids",
    "controller_registration",
    "list_config_resources",
    "describe_topic_partitions",
    "add_raft_voter",
    "remove_raft_voter",
    "update_raft_voter",
)


def load_apis() -> dict[int, Api]:
    apis: list[Api] = [import_module(f"penstock.core.apis.{name}").API for name in _MODULES]
    return {api.key: api for api in apis}


def make_node(
    settings: BrokerSettings,
    files: Files,
    entropy: Entropy,
    log: Callable[[str, str], None] = lambda level, text: None,
    network: Network | None = None,
) -> Node:
    """A node that serves every API in the table. Without a network it can ask nobody, and stands alone."""
    return Node(settings, files, entropy, load_apis(), log, network)
