"""The committed offsets of a shard's groups; written by replay only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

_NOTHING: Mapping[str, Mapping[int, CommittedOffset]] = {}


class CommittedOffset(NamedTuple):
    """One commit, as the log holds it."""

    offset: int
    leader_epoch: int
    metadata: str
    committed_ms: int
    expires_ms: int | None
    """Set where an old client asked for a retention of its own."""
    topic_id: bytes
    """All zeros where the commit does not know it."""


class OffsetStore:
    """group -> topic -> partition -> commit."""

    __slots__ = ("_by_group",)

    def __init__(self) -> None:
        self._by_group: dict[str, dict[str, dict[int, CommittedOffset]]] = {}

    def __eq__(self, other: object) -> bool:
        return self._by_group == other._by_group if isinstance(other, OffsetStore) else NotImplemented

    __hash__ = None  # type: ignore[assignment]  # A mutable value that compares by content.

    def put(self, group_id: str, topic: str, partition: int, commit: CommittedOffset) -> None:
        self._by_group.setdefault(group_id, {}).setdefault(topic, {})[partition] = commit

    def remove(self, group_id: str, topic: str, partition: int) -> None:
        by_topic = self._by_group.get(group_id, {})
        by_partition = by_topic.get(topic, {})
        by_partition.pop(partition, None)
        if not by_partition:
            by_topic.pop(topic, None)
        if not by_topic:
            self._by_group.pop(group_id, None)

    def clear(self) -> None:
        self._by_group.clear()

    def of_group(self, group_id: str) -> Mapping[str, Mapping[int, CommittedOffset]]:
        return self._by_group.get(group_id, _NOTHING)
