"""What the sender of a request may, for handlers that look names up themselves, or tell their clients of it."""

from __future__ import annotations

from typing import Any, Final

from penstock.core.access.words import KNOWN
from penstock.core.base.errors import ErrorCode
from penstock.core.metadata.image import GROUP_RESOURCE, TOPIC_RESOURCE
from penstock.core.node.node import Node
from penstock.core.node.serving.access import CLUSTER_NAME, Operation, Resource, bits
from penstock.core.node.serving.authorizing import REFUSED_AS, Authorize, Question
from penstock.core.node.serving.gates import ALLOW_ALL
from penstock.core.node.serving.slots import Slot
from penstock.core.wire.schema import Response

_OWN_RIGHTS: Final = {TOPIC_RESOURCE: Resource.TOPIC, GROUP_RESOURCE: Resource.GROUP}
"""Settings that belong to a thing with rights of its own; all others are the cluster's."""


def may(node: Node, slot: Slot, operation: Operation, resource: Resource, name: str = CLUSTER_NAME) -> bool:
    return node.gates.authorizer.allows(slot.context, operation, resource, name)


def operations(node: Node, slot: Slot, resource: Resource, name: str) -> int:
    """All that may be done with something, as the bit field that clients are told."""
    if node.gates.authorizer is ALLOW_ALL:
        return bits(resource)
    return sum(1 << each for each in KNOWN[resource] if may(node, slot, each, resource, name))


def cluster_operations(node: Node, slot: Slot) -> int:
    """Who may not look at the cluster is not told what else may be done with it."""
    if not may(node, slot, Operation.DESCRIBE, Resource.CLUSTER):
        return 0
    return operations(node, slot, Resource.CLUSTER, CLUSTER_NAME)


def of_settings(operation: Operation) -> Authorize:
    """How APIs about settings judge a request: each resource for itself, by its type."""

    def authorize(question: Question) -> Response | None:
        def verdict(resource: Any) -> ErrorCode | None:
            kind = _OWN_RIGHTS.get(resource.resource_type, Resource.CLUSTER)
            name = CLUSTER_NAME if kind is Resource.CLUSTER else resource.resource_name
            return None if question.may(operation, kind, name) else REFUSED_AS[kind]

        return question.set_aside("resources", verdict)

    return authorize
