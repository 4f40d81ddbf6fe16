"""Producer ids, handed out from blocks that the metadata log has promised to this node."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from penstock.core.base.errors import ErrorCode
from penstock.core.node.channel import FORWARD
from penstock.core.wire.api.allocate_producer_ids import AllocateProducerIdsRequest, AllocateProducerIdsResponse
from penstock.core.wire.schema import Response
from penstock.core.wire.stored.cluster_metadata import ProducerIdsRecord

if TYPE_CHECKING:
    from penstock.core.node.node import Node

BLOCK = 1000
NONE = range(0)

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
        if not self._node.quorum.leads:
            self._ask_controller()
            return
        start = self._node.quorum.latest.next_producer_id
        record = ProducerIdsRecord(broker_id=self._node.node_id, broker_epoch=-1, next_producer_id=start + BLOCK)
        self._node.submit([record], lambda code: self._promised(range(start, start + BLOCK) if not code else NONE))

    def _ask_controller(self) -> None:
        cluster = self._node.cluster
        request = AllocateProducerIdsRequest(broker_id=self._node.node_id, broker_epoch=cluster.registrar.epoch)

        def heard(answer: Response | None) -> None:
            if isinstance(answer, AllocateProducerIdsResponse) and not answer.error_code:
                start = answer.producer_id_start
                self._promised(range(start, start + answer.producer_id_len))
            else:
                self._promised(NONE)

        cluster.channel.ask(request, self._node.settings["request.timeout.ms"], heard, FORWARD)

    def _promised(self, block: range) -> None:
        """A block is this node's, or none could be had."""
        asking, self._asking = self._asking, []
        if block:
            self._next, self._end = block.start, block.stop
        for given in asking:
            if block:
                self.take(given)
            else:
                given(-1, ErrorCode.COORDINATOR_NOT_AVAILABLE)
