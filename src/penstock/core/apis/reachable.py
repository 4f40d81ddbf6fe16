"""Which brokers a client can reach, by the listener that it asks on: what Metadata says of leaders and replicas."""

from __future__ import annotations

from penstock.core.base.errors import ErrorCode
from penstock.core.metadata.image import NO_LEADER, Directories, Image, ReplicaSet, TopicImage


class Reachable:
    """Looked up once per response. Partitions share few sets of replicas, so what is found for one is kept."""

    def __init__(
        self, image: Image, listener: str, *, says_listener: bool = True, absent: frozenset[int] = frozenset()
    ) -> None:
        """`says_listener`: whether the client knows an error for a leader that listens elsewhere only. `absent`: those
        that seem to be gone, whatever the image says."""
        self._image = image
        self._absent = absent
        self._says_listener = says_listener
        self._listening = {
            broker.id: broker for broker in image.brokers.values() if broker.endpoint(listener) is not None
        }
        self._offline: dict[tuple[ReplicaSet, Directories], list[int]] = {}

    def leader(self, leader: int) -> int:
        """The leader as clients may know it."""
        return leader if leader in self._listening and leader not in self._absent else NO_LEADER

    def error(self, leader: int) -> ErrorCode:
        """What is wrong with a leader, if anything."""
        if leader in self._absent:
            return ErrorCode.LEADER_NOT_AVAILABLE
        if leader in self._listening:
            return ErrorCode.NONE
        is_elsewhere = self._says_listener and leader in self._image.brokers
        return ErrorCode.LISTENER_NOT_FOUND if is_elsewhere else ErrorCode.LEADER_NOT_AVAILABLE

    def offline(self, topic: TopicImage, index: int) -> list[int]:
        """The replicas that cannot be read: their brokers are away, or have lost the directory."""
        key = (topic.replicas[index], topic.directories[index])
        found = self._offline.get(key)
        if found is None:
            partition = topic.partition(index)
            found = [each for each in partition.replicas if not self._is_online(each, partition.directory(each))]
            self._offline[key] = found
        return found

    def _is_online(self, replica: int, directory: bytes) -> bool:
        broker = self._listening.get(replica)
        return broker is not None and not broker.fenced and broker.has_online(directory)
