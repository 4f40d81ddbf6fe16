"""Who a client is that takes part in KIP-714, and what is asked of it; no state here."""

from __future__ import annotations

from penstock.core.metadata.client_metrics import ClientFacts, Subscription, subscription
from penstock.core.metadata.image import CLIENT_METRICS_RESOURCE
from penstock.core.metadata.storage import uuid_text
from penstock.core.node.node import Node
from penstock.core.node.observing.telemetry import Instance
from penstock.core.node.serving.slots import Slot

US_PER_MS = 1000


def instance_of(node: Node, slot: Slot, instance_id: bytes) -> Instance:
    """The client behind a request, as the subscriptions of the newest image have it."""
    telemetry, connection, now_ms = node.metrics.telemetry, slot.connection, node.now_us // US_PER_MS
    has_subscriptions(node)
    telemetry.expire(now_ms)
    connection.client_instance = instance_id
    name, version = connection.software
    facts = ClientFacts(
        uuid_text(instance_id),
        slot.context.client_id or "",
        name,
        version,
        slot.context.address,
        str(connection.port),
    )
    return telemetry.meet(instance_id, facts, now_ms)


def has_subscriptions(node: Node) -> bool:
    """Whether anybody wants to hear of clients, as the newest image has it."""
    telemetry = node.metrics.telemetry
    if telemetry.known_configs is not node.image.configs:
        telemetry.known_configs = node.image.configs
        telemetry.subscribe(_subscriptions(node))
    return telemetry.is_wanted


def _subscriptions(node: Node) -> list[Subscription]:
    prefix = f"{CLIENT_METRICS_RESOURCE}/"
    configured = ((key, values) for key, values in node.image.configs.items() if key.startswith(prefix))
    return sorted(subscription(key.removeprefix(prefix), values) for key, values in configured)
