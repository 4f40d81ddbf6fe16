"""The table of APIs: what this node advertises and serves is exactly what has a file here."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from penstock.core.base.ports import Entropy, Files
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
    "incremental_alter_configs",
    "offset_delete",
    "describe_cluster",
    "describe_producers",
    "list_config_resources",
    "describe_topic_partitions",
)


def load_apis() -> dict[int, Api]:
    apis: list[Api] = [import_module(f"penstock.core.apis.{name}").API for name in _MODULES]
    return {api.key: api for api in apis}


def make_node(
    settings: BrokerSettings,
    files: Files,
    entropy: Entropy,
    log: Callable[[str, str], None] = lambda level, text: None,
) -> Node:
    """A node that serves every API in the table."""
    return Node(settings, files, entropy, load_apis(), log)
