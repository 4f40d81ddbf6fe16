"""The node's topics as group machines ask about them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from penstock.core.node.node import Node


class ImageTopics:
    """A `TopicLookup` over whatever image is current."""

    def __init__(self, node: Node) -> None:
        self._node = node

    def name_of(self, topic_id: bytes) -> str | None:
        return self._node.image.names.get(topic_id)

    def id_of(self, name: str) -> bytes | None:
        topic = self._node.image.topic(name)
        return None if topic is None else topic.id

    def partition_count(self, name: str) -> int | None:
        topic = self._node.image.topic(name)
        return None if topic is None else len(topic)
