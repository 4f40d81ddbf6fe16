"""All families of a node as one text, written in turns: a node has several lines for each partition."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Final

from penstock.core.base.ports import Pause, Steps
from penstock.core.node.group_lag import GroupLag
from penstock.core.node.node import Node
from penstock.shell.exposition.busiest import Traffic, busiest_families
from penstock.shell.exposition.census import Census, take_census
from penstock.shell.exposition.clients import client_families
from penstock.shell.exposition.cluster import controller_families, quorum_families, replica_families
from penstock.shell.exposition.families import Family
from penstock.shell.exposition.groups import GroupCensus, group_families, take_group_census
from penstock.shell.exposition.own import own_families
from penstock.shell.exposition.partitions import PARTITIONS_MAX, partition_families
from penstock.shell.exposition.process import IdleShare, loop_families, process_families
from penstock.shell.exposition.requests import certificate_families, connection_families, request_families
from penstock.shell.exposition.sharing import sharing_families
from penstock.shell.exposition.topics import batch_families, topic_families

LINES_PER_TURN_MAX: Final = 500
"""About a millisecond of work."""
END: Final = b"# EOF\n"


class Exposition:
    """What one node tells; each line says what was so when it was written."""

    def __init__(
        self,
        node: Node,
        expiries_s: Callable[[], Mapping[str, int]] = dict,
        traffic: Callable[[], Iterable[Traffic]] = tuple,
    ) -> None:
        """`expiries_s` says when the certificates of listeners expire, `traffic` what clients send and get."""
        self._node = node
        self._expiries_s = expiries_s
        self._traffic = traffic
        self._idle = IdleShare()
        self._group_lag = GroupLag(node)

    def render(self, *, is_full: bool = False, is_open: bool = False) -> Steps[list[bytes]]:
        """All of it, or what there is without a line for each partition; in Prometheus' format or in OpenMetrics.
        It stays in pieces: to join ten megabytes would take more than a turn may."""
        census = yield from take_census(self._node, PARTITIONS_MAX if is_full else 0)
        groups = yield from take_group_census(self._node, self._group_lag)
        lines = (line for family in self._families(census, groups, is_full=is_full) for line in family.lines(is_open))
        written: list[bytes] = []
        while some := list(islice(lines, LINES_PER_TURN_MAX)):
            if written:
                yield Pause()
            written.append(("\n".join(some) + "\n").encode())
        if is_open:
            written.append(END)
        return written

    def _families(self, census: Census, groups: GroupCensus, *, is_full: bool) -> Iterator[Family]:
        node = self._node
        yield from own_families(node)
        yield from loop_families(node, self._idle)
        yield from process_families()
        yield from connection_families(node)
        yield from busiest_families(self._traffic)
        yield from certificate_families(node, self._expiries_s())
        yield from request_families(node)
        yield from replica_families(node, census)
        yield from controller_families(node)
        yield from quorum_families(node)
        yield from topic_families(node, census)
        yield from batch_families(node)
        yield from client_families(node, is_full=is_full)
        yield from group_families(node, groups, is_full=is_full)
        yield from sharing_families(node)
        if is_full:
            yield from partition_families(node, census)
