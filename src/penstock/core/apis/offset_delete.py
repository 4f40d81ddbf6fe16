"""OffsetDelete (47). Version 0: committed offsets of a group are removed."""

from __future__ import annotations

from penstock.core.apis.asking import ask
from penstock.core.apis.places import by_coordinator
from penstock.core.node.serving.access import Operation, on_groups, on_topics
from penstock.core.node.serving.api import Api
from penstock.core.wire.api.offset_delete import OffsetDeleteRequest

API = Api(
    OffsetDeleteRequest,
    range(1),
    by_coordinator(ask),
    on_groups(Operation.DELETE, "group_id") + on_topics(Operation.READ, "topics.name"),
)
