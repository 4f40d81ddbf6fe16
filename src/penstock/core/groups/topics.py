"""The one question groups ask about topics: which exist, under which id, with how many partitions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol

NO_TOPIC_ID: Final = bytes(16)


class TopicLookup(Protocol):
    """The topics as the node knows them now; None stands for a topic that does not exist."""

    def name_of(self, topic_id: bytes) -> str | None: ...
    def id_of(self, name: str) -> bytes | None: ...
    def partition_count(self, name: str) -> int | None: ...
    def names(self) -> Sequence[str]:
        """Of all topics that a pattern may describe: internal ones are not among them."""
        ...
