"""Which share partitions of a group have their state set up at share coordinators, and which are on the way.

Only what is set up is given to members: whoever leads a partition finds there where to begin. A partition stands in one
of three places: being set up, set up, or being deleted, and then with its whole topic.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from penstock.core.base.values import frozen
from penstock.core.groups.share.member import Partitions


class Named(NamedTuple):
    """Partitions of a topic that had this name."""

    name: str
    partitions: frozenset[int]


Topics = Mapping[bytes, Named]
"""By id."""


@frozen
class StatePartitions:
    """As the record of it says."""

    initializing: Topics
    initialized: Topics
    deleting: Mapping[bytes, str]
    written_ms: int = 0

    @property
    def is_nothing(self) -> bool:
        return not (self.initializing or self.initialized or self.deleting)

    def missing(self, wanted: Topics, retry_before_ms: int) -> Topics:
        """What of these partitions nobody has begun to set up, or nobody has finished for long. What is being deleted
        waits for that: the one might come after the other."""
        is_fresh = self.written_ms > retry_before_ms
        found = {}
        for topic_id, (name, partitions) in wanted.items():
            if is_fresh and topic_id in self.deleting:
                continue
            left = partitions - _of(self.initialized, topic_id)
            if is_fresh:
                left -= _of(self.initializing, topic_id)
            if left:
                found[topic_id] = Named(name, left)
        return found

    def begun(self, topics: Topics) -> StatePartitions:
        """These are being set up, or set up anew."""
        deleting = {each: name for each, name in self.deleting.items() if each not in topics}
        return StatePartitions(_plus(self.initializing, topics), self.initialized, deleting)

    def finished(self, topics: Topics) -> StatePartitions:
        """What was to be deleted meanwhile does not count."""
        known = {
            topic_id: Named(name, partitions & _of(self.initializing, topic_id))
            for topic_id, (name, partitions) in topics.items()
            if topic_id in self.initializing
        }
        return StatePartitions(_minus(self.initializing, known), _plus(self.initialized, known), self.deleting)

    def failed(self, topics: Topics) -> StatePartitions:
        return StatePartitions(_minus(self.initializing, topics), self.initialized, self.deleting)

    def deleted(self, topics: Mapping[bytes, str]) -> StatePartitions:
        """These are being deleted."""
        return StatePartitions(
            _without(self.initializing, topics), _without(self.initialized, topics), {**self.deleting, **topics}
        )

    def gone(self, topic_ids: Iterable[bytes]) -> StatePartitions:
        """Nothing is kept about these topics any more."""
        gone = set(topic_ids)
        deleting = {each: name for each, name in self.deleting.items() if each not in gone}
        return StatePartitions(_without(self.initializing, gone), _without(self.initialized, gone), deleting)

    def forgotten(self, topic_ids: Iterable[bytes]) -> StatePartitions:
        """What was being deleted is; what has been begun again meanwhile stays."""
        gone = set(topic_ids)
        deleting = {each: name for each, name in self.deleting.items() if each not in gone}
        return StatePartitions(self.initializing, self.initialized, deleting)

    def known(self) -> Topics:
        """All that a share coordinator may know something about, apart from what is being deleted."""
        return _plus(self.initialized, self.initializing)

    def assignable(self) -> Partitions:
        return {topic_id: each.partitions for topic_id, each in self.initialized.items()}


NONE: Final = StatePartitions({}, {}, {})


def _of(topics: Topics, topic_id: bytes) -> frozenset[int]:
    found = topics.get(topic_id)
    return frozenset() if found is None else found.partitions


def _plus(topics: Topics, more: Topics) -> Topics:
    found = dict(topics)
    for topic_id, (name, partitions) in more.items():
        found[topic_id] = Named(name, partitions | _of(topics, topic_id))
    return found


def _minus(topics: Topics, less: Topics) -> Topics:
    left = {topic_id: Named(name, each - _of(less, topic_id)) for topic_id, (name, each) in topics.items()}
    return {topic_id: each for topic_id, each in left.items() if each.partitions}


def _without(topics: Topics, topic_ids: Iterable[bytes]) -> Topics:
    gone = set(topic_ids)
    return {topic_id: each for topic_id, each in topics.items() if topic_id not in gone}
