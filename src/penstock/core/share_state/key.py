"""What a share coordinator keeps something about: a partition of a topic, as one share group reads it."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Final, NamedTuple

_ID_BYTES: Final = 16
_ID_CHARS: Final = 22
_PARTS: Final = 3


class SharePartition(NamedTuple):
    """Its text is what FindCoordinator is asked with, and what decides which machine is in charge."""

    group_id: str
    topic_id: bytes
    partition: int

    @property
    def text(self) -> str:
        """`group:topicId:partition`."""
        topic_id = urlsafe_b64encode(self.topic_id).decode()[:_ID_CHARS]
        return f"{self.group_id}:{topic_id}:{self.partition}"


def read_key(text: str) -> SharePartition | None:
    """What a text names, or None where it names nothing. A group's id may have colons in it."""
    parts = text.rsplit(":", _PARTS - 1)
    if len(parts) < _PARTS or not parts[0].strip():
        return None
    group_id, topic_id, partition = parts
    try:
        found = SharePartition(group_id, urlsafe_b64decode(topic_id + "=="), int(partition))
    except ValueError:
        return None
    return found if len(found.topic_id) == _ID_BYTES else None
