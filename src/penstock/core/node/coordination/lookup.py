"""The node's topics as group machines ask about them."""

from __future__ import annotations

from penstock.core.node.coordination.ports import Imaged
from penstock.core.partition.partition import INTERNAL_TOPICS


class ImageTopics:
    """A `TopicLookup` over whatever image is current."""

    def __init__(self, node: Imaged) -> None:
        self._node = node

    def name_of(self, topic_id: bytes) -> str | None:
        return self._node.image.names.get(topic_id)

    def id_of(self, name: str) -> bytes | None:
        topic = self._node.image.topic(name)
        return None if topic is None else topic.id

    def names(self) -> list[str]:
        return [name for name in self._node.image.names.values() if name not in INTERNAL_TOPICS]

    def partition_count(self, name: str) -> int | None:
        topic = self._node.image.topic(name)
        return None if topic is None else len(topic)
