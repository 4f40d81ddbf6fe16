"""FindCoordinator (10). Version 1 has key types, 4 asks for many keys at once, 6 knows share groups, whose coordinators
only nodes look for.

The first question creates the topic that coordinators of a kind are over; it is answered once the topic is there.
"""

from __future__ import annotations

from typing import Any

from penstock.core.apis.rights import may
from penstock.core.base.errors import ErrorCode
from penstock.core.metadata.brokers import BrokerImage
from penstock.core.node.coordination.hosts import Hosts
from penstock.core.node.membership.internal_topics import create_missing
from penstock.core.node.node import Node
from penstock.core.node.serving.access import (
    CLUSTER_ACTION,
    CLUSTER_NAME,
    Operation,
    Resource,
    on_groups,
    on_transactional_ids,
)
from penstock.core.node.serving.api import PENDING, Answer, Api
from penstock.core.node.serving.authorizing import REFUSED_AS, by_handler
from penstock.core.node.serving.slots import Slot
from penstock.core.share_state.key import read_key
from penstock.core.wire.api.find_coordinator import Coordinator, FindCoordinatorRequest, FindCoordinatorResponse

GROUP = 0
TRANSACTION = 1
SHARE = 2
SHARE_FROM = 6
RESOURCES = {GROUP: Resource.GROUP, TRANSACTION: Resource.TRANSACTIONAL_ID, SHARE: Resource.CLUSTER}


def handle(node: Node, request: FindCoordinatorRequest, slot: Slot) -> Answer:
    hosts = _hosts_of(node, request.key_type, slot)
    keys = request.coordinator_keys if slot.version >= 4 else [request.key]
    if (
        hosts is None
        or not any(_may_find(node, slot, request.key_type, key) for key in keys)
        or node.image.topic(hosts.kind.topic) is not None
    ):
        return _respond(node, request, slot)

    def created(code: ErrorCode) -> None:
        slot.reply(_respond(node, request, slot))

    create_missing(node, [hosts.kind.topic], created)
    return PENDING


def _respond(node: Node, request: FindCoordinatorRequest, slot: Slot) -> FindCoordinatorResponse:
    if slot.version >= 4:
        return FindCoordinatorResponse(
            coordinators=[_locate(node, request.key_type, key, slot) for key in request.coordinator_keys]
        )
    found = _locate(node, request.key_type, request.key, slot)
    return FindCoordinatorResponse(
        error_code=found.error_code,
        error_message=found.error_message,
        node_id=found.node_id,
        host=found.host,
        port=found.port,
    )


def _locate(node: Node, key_type: int, key: str, slot: Slot) -> Coordinator:
    hosts = _hosts_of(node, key_type, slot)
    if hosts is None:
        return _nobody(node, key, ErrorCode.INVALID_REQUEST, f"Coordinators of type {key_type} are not known here.")
    if not _may_find(node, slot, key_type, key):
        return _nobody(node, key, REFUSED_AS[RESOURCES[key_type]], None)
    if key_type == SHARE and read_key(key) is None:
        return _nobody(node, key, ErrorCode.INVALID_REQUEST, "A key is group:topicId:partition.")
    leader = _leader_for(node, hosts, key)
    point = None if leader is None or leader.fenced else leader.endpoint(slot.context.listener)
    if leader is None or point is None:
        return _nobody(node, key, ErrorCode.COORDINATOR_NOT_AVAILABLE, None)
    return Coordinator(key=key, node_id=leader.id, host=point.host, port=point.port, error_code=0, error_message=None)


def _may_find(node: Node, slot: Slot, key_type: int, key: str) -> bool:
    if key_type == SHARE:
        return may(node, slot, Operation.CLUSTER_ACTION, Resource.CLUSTER, CLUSTER_NAME)
    return may(node, slot, Operation.DESCRIBE, RESOURCES[key_type], key)


def _hosts_of(node: Node, key_type: int, slot: Slot) -> Hosts[Any] | None:
    """The coordinators of a kind, wherever they are."""
    coordinators = node.coordinators
    kinds: dict[int, Hosts[Any]] = {GROUP: coordinators.groups, TRANSACTION: coordinators.transactions}
    if slot.version >= SHARE_FROM:
        kinds[SHARE] = coordinators.share_state
    return kinds.get(key_type)


def _leader_for(node: Node, hosts: Hosts[Any], key: str) -> BrokerImage | None:
    """Who leads the partition that a key belongs to."""
    topic = node.image.topic(hosts.kind.topic)
    if topic is None:
        return None
    return node.image.brokers.get(topic.leaders[hosts.kind.index_of(key, len(topic))])


def _nobody(node: Node, key: str, code: ErrorCode, message: str | None) -> Coordinator:
    node.error("FindCoordinator", code)
    return Coordinator(key=key, node_id=-1, host="", port=-1, error_code=code, error_message=message)


API = Api(
    FindCoordinatorRequest,
    range(7),
    handle,
    on_groups(Operation.DESCRIBE, "key", "coordinator_keys")
    + on_transactional_ids(Operation.DESCRIBE, "key", "coordinator_keys")
    + CLUSTER_ACTION,
    authorize=by_handler,
)
