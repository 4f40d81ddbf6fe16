"""Producer ids, handed out from blocks that the metadata log has promised to this node."""

from __future__ import annotations

from collections.abc import Callable

from penstock.core.base.errors import ErrorCode
from penstock.core.node.links.purposes import FORWARD
from penstock.core.node.membership.ports import Asking
from penstock.core.wire.api.allocate_producer_ids import AllocateProducerIdsRequest, AllocateProducerIdsResponse
from penstock.core.wire.schema import Response

NONE = range(0)

Given = Callable[[int, ErrorCode], None]


class ProducerIds:
    """A block of ids in memory: a restart throws the rest of it away, which costs nothing and repeats nothing."""

    def __init__(self, node: Asking) -> None:
        self._node = node
        self._next = 0
        self._end = 0
        self._asking: list[Callable[[ErrorCode], None]] = []

    def take(self, given: Given) -> None:
        """Call `given(id, NONE)`, now or when the next block is committed."""

        def stocked(error: ErrorCode) -> None:
            if error is not ErrorCode.NONE:
                given(-1, error)
            elif (producer_id := self.take_now()) is not None:
                given(producer_id, error)
            else:
                # Those who waited before have taken all of the block.
                self.take(given)

        self.when_stocked(stocked)

    def has_stock(self) -> bool:
        """Whether an id can be taken at once. If not, a block is asked for."""
        if self._next == self._end and not self._asking:
            self._order(lambda error: None)
        return self._next < self._end

    def take_now(self) -> int | None:
        """An id, if one is in stock."""
        if not self.has_stock():
            return None
        self._next += 1
        return self._next - 1

    def when_stocked(self, then: Callable[[ErrorCode], None]) -> None:
        """Call now or when a block is committed, or when it is clear that none can be had."""
        if self._next < self._end:
            then(ErrorCode.NONE)
        else:
            self._order(then)

    def _order(self, then: Callable[[ErrorCode], None]) -> None:
        self._asking.append(then)
        if len(self._asking) == 1:
            self._ask()

    def _ask(self) -> None:
        cluster = self._node.cluster
        request = AllocateProducerIdsRequest(broker_id=self._node.node_id, broker_epoch=cluster.broker_epoch)

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
        for then in asking:
            then(ErrorCode.NONE if block else ErrorCode.COORDINATOR_NOT_AVAILABLE)
