"""A reader that goes to a replica near to it, if the leader names one (KIP-392), and back to the leader as Kafka's
consumer does: when its time is over, when the replica cannot be reached, and after any error.

Only the leader says that a position is out of range. A replica that says so is left, and the leader is asked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from penstock.core.base.errors import ErrorCode
from penstock.sim.clients.client import Connection
from penstock.sim.clients.consumer import Fetcher
from penstock.sim.clients.routed import RoutedClient
from penstock.sim.events import UNKNOWN, FetchPart, Partition
from penstock.sim.scheduler import SECOND
from penstock.sim.script import Script

NEAR_US_MAX: Final = 10 * SECOND
"""Kafka's consumer asks the leader again when it asks for metadata, once in five minutes."""


class NearFetcher(Fetcher):
    """Fetches for a client that stands in a rack."""

    def __init__(self, client: RoutedClient, topic_ids: Mapping[str, bytes], uses_session: bool, rack: str) -> None:
        super().__init__(client, topic_ids, uses_session)
        self._routed = client
        self.rack = rack

    def fetch(self, positions: Mapping[Partition, int], isolation: int = 0) -> Script[tuple[FetchPart, ...]]:
        """Fetch once; a replica that does not have a position any more, or not yet, is left for the leader."""
        near = {partition for partition in positions if self._is_near([partition])}
        parts = yield from super().fetch(positions, isolation)
        for part in parts:
            if part.read_from != UNKNOWN:
                for_us = self._routed.chance.between(1, NEAR_US_MAX)
                self._routed.read_from(part.partition, part.read_from, for_us)
        left = [part for part in parts if part.error == ErrorCode.OFFSET_OUT_OF_RANGE and part.partition in near]
        for part in left:
            self._routed.read_from_leader(part.partition)
        return tuple(part for part in parts if part not in left)

    def _connect(self, partition: Partition) -> Script[Connection]:
        return (yield from self._routed.connect_to_near(partition))

    def _is_near(self, partitions: Iterable[Partition]) -> bool:
        return any(self._routed.near(partition) is not None for partition in partitions)
