"""Damage that is found while a node runs, in a log of which other replicas have everything.

The controller is asked to take the replica out of the in-sync set, and to let another one lead. In the leader epoch
that begins with that, the log is cut before the damage, and what is missing comes from the leader. Nothing is cut
before: until then this replica counts as one that has what is committed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from penstock.core.base.steps import expect_no_mistake
from penstock.core.log.damage import unmark
from penstock.core.log.log import Log
from penstock.core.metadata.brokers import LOST_DIRECTORY
from penstock.core.metadata.image import PartitionImage
from penstock.core.node.deadlines import Deadline
from penstock.core.node.host import Host
from penstock.core.partition.follower import Follower
from penstock.core.partition.replicated import LeaderContext
from penstock.core.wire.api.assign_replicas_to_dirs import (
    AssignReplicasToDirsRequest,
    RequestDirectoryData,
    RequestPartitionData,
    RequestTopicData,
)
from penstock.core.wire.schema import Request

ASK_MS: Final = 5_000
AGAIN_MS: Final = 10_000
"""Whoever else is in sync may be away, and what was answered may have been lost."""


class Losses:
    """Replicas that are to be cut as soon as nobody counts on them."""

    def __init__(
        self, host: Host, around: LeaderContext, ask: Callable[[Request], None], on_cut: Callable[[Log], None]
    ) -> None:
        """`ask` reaches the active controller. What it answers does not matter: what follows comes with an image, and
        what was refused is asked again later."""
        self._host = host
        self._around = around
        self._send = ask
        self._on_cut = on_cut
        # From which segment on: its base offset.
        self._from: dict[Log, int] = {}
        self._next: Deadline | None = None

    def found(self, log: Log, offset: int) -> None:
        """The segment that begins at `offset` is damaged."""
        is_new = log not in self._from
        self._from[log] = min(offset, self._from.get(log, offset))
        if is_new:
            # Whatever else is found in this turn is asked for with it; what was asked before does not hold it up.
            if self._next is not None:
                self._next.cancel()
            self._next = self._host.deadlines.soon(self._ask)

    def give_up(self, follower: Follower, known: PartitionImage) -> None:
        """A role begins. Cut the log of a follower that nobody counts on, before it fetches."""
        offset = self._from.get(follower.log)
        counts = {*known.isr, *known.standing.elr, *known.standing.last_known_elr}
        if offset is not None and follower.leader >= 0 and self._around.node_id not in counts:
            follower.lose(offset, self._host.now_ms, partial(self._is_cut, follower, offset))

    # Inside

    def _ask(self) -> None:
        self._next = None
        self._from = {log: offset for log, offset in self._from.items() if not log.is_gone}
        if not self._from:
            return
        topics: dict[bytes, RequestTopicData] = {}
        for log in self._from:
            if log.topic_id is not None:
                topic = topics.setdefault(log.topic_id, RequestTopicData(topic_id=log.topic_id, partitions=[]))
                topic.partitions.append(RequestPartitionData(partition_index=log.partition))
        directory = RequestDirectoryData(id=LOST_DIRECTORY, topics=list(topics.values()))
        around, host = self._around, self._host
        self._next = host.deadlines.at(host.now_ms + AGAIN_MS, self._ask)
        self._send(
            AssignReplicasToDirsRequest(
                broker_id=around.node_id, broker_epoch=around.broker_epoch, directories=[directory]
            )
        )

    def _is_cut(self, follower: Follower, offset: int) -> None:
        log = follower.log
        if self._from.get(log) == offset:
            del self._from[log]
            self._on_cut(log)
            self._host.tasks.run(unmark(log.dir), expect_no_mistake)
        name = f"{log.topic}-{log.partition}"
        self._host.log(
            "warning",
            "storage",
            f"{name} was cut at offset {log.end_offset}: the rest comes again from node {follower.leader}",
        )
