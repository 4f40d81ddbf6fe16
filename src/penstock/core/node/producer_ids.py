"""Producer ids, handed out from blocks that the metadata log has promised to this node."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from penstock.core.base.errors import ErrorCode
from penstock.core.wire.stored.cluster_metadata import ProducerIdsRecord

if TYPE_CHECKING:
    from penstock.core.node.node import Node

BLOCK = 1000

Given = Callable[[int, ErrorCode], None]


class ProducerIds:
    """A block of ids in memory: a restart throws the rest of it away, which costs nothing and repeats nothing."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._next = 0
        self._end = 0
        self._asking: list[Given] = []

    def take(self, given: Given) -> None:
        """Call `given(id, NONE)`, now or when the next block is committed."""
        if self._next < self._end:
            self._next += 1
            given(self._next - 1, ErrorCode.NONE)
            return
        self._asking.append(given)
        if len(self._asking) == 1:
            self._ask()

    def _ask(self) -> None:
        start = self._node.quorum.latest.next_producer_id
        record = ProducerIdsRecord(broker_id=self._node.node_id, broker_epoch=-1, next_producer_id=start + BLOCK)

        def committed(code: ErrorCode) -> None:
            asking, self._asking = self._asking, []
            if code is ErrorCode.NONE:
                self._next, self._end = start, start + BLOCK
            for given in asking:
                if code is ErrorCode.NONE:
                    self.take(given)
                else:
                    given(-1, ErrorCode.COORDINATOR_NOT_AVAILABLE)

        self._node.submit([record], committed)
