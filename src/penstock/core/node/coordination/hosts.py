"""The hosts of one internal topic: a machine for each of its partitions that this node leads, found by a key."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Generic, Protocol, TypeVar

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.node import host as node_host
from penstock.core.node.coordination.host import Host
from penstock.core.node.coordination.journal import PartitionJournal
from penstock.core.partition.partition import Partition
from penstock.core.rsm.machine import Machine
from penstock.core.rsm.result import Timers

M = TypeVar("M", bound=Machine)
M_co = TypeVar("M_co", bound=Machine, covariant=True)


class Kind(Protocol[M_co]):
    """What a topic's machines are about."""

    @property
    def topic(self) -> str: ...

    @property
    def count(self) -> int:
        """Partitions of the topic, here or elsewhere; keys are spread over them."""
        ...

    def journal(self, partition: Partition) -> PartitionJournal: ...

    def make(self, partition: Partition, timers: Timers) -> M_co: ...

    def index_of(self, key: str, count: int) -> int:
        """Which partition a key belongs to."""
        ...


class Hosts(Generic[M]):
    """One kind of coordinators."""

    def __init__(self, place: node_host.Host, kind: Kind[M]) -> None:
        self._place = place
        self.kind = kind
        self._hosts: dict[int, Host[M]] = {}

    def __iter__(self) -> Iterator[Host[M]]:
        return iter(list(self._hosts.values()))

    @property
    def count(self) -> int:
        return self.kind.count

    @property
    def local(self) -> list[int]:
        """The partitions on this node."""
        return sorted(self._hosts)

    def added(self, partition: Partition) -> None:
        kind = self.kind
        make = partial(kind.make, partition)
        self._hosts[partition.index] = Host(self._place, partition, kind.journal(partition), make)

    def removed(self, partition: Partition) -> None:
        if (host := self._hosts.pop(partition.index, None)) is not None:
            host.close()

    def at(self, index: int) -> Host[M]:
        """A host that can serve, or the error that sends its client elsewhere or makes it ask again."""
        host = self._hosts.get(index)
        if host is None:
            raise ApiError(ErrorCode.NOT_COORDINATOR)
        if host.driver is None:
            raise ApiError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        return host

    def find(self, key: str) -> Host[M]:
        return self.at(self.kind.index_of(key, self.count))

    def close(self) -> None:
        for host in self:
            host.close()
        self._hosts.clear()
