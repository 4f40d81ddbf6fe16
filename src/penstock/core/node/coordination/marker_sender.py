"""Sends the markers that end transactions to the leaders of their partitions, until each of them has written its own.

Markers for one broker go out together: what came up while the requests before were under way is the next one. A broker
that does not answer is waited for no longer than the image counts on it; a partition that is gone needs no marker. What
is not finished when this node stops, or leads no more, is in the log: whoever leads then begins again, and a marker
that is written twice changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from itertools import islice
from typing import Final

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.metadata.brokers import NO_BROKER
from penstock.core.node.coordination.host import Host
from penstock.core.node.coordination.marker_batch import Batch, Ending
from penstock.core.node.coordination.ports import CoordinatorHost
from penstock.core.node.links.purposes import MARKERS
from penstock.core.rsm.result import Due, Performer
from penstock.core.transactions.markers import MarkersDue, TopicPartition
from penstock.core.transactions.shard import TransactionShard
from penstock.core.wire.schema import Response

IN_FLIGHT_MAX: Final = 2
"""Requests to one broker at a time: one that it carries out, one that it reads."""
ENDINGS_PER_REQUEST_MAX: Final = 500
RETRY_MS: Final = 50
"""Before a partition is tried again that has no leader, or whose leader has refused."""
LOOKS_PER_TURN_MAX: Final = 500

FindHost = Callable[[int], Host[TransactionShard]]

WRITTEN: Final = frozenset((ErrorCode.NONE, ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT))
"""With a higher epoch than ours, the partition has heard of a later end; and what cannot have transactions has none."""


class Announcer(Performer):
    """Carries out what the machine over one partition of `__transaction_state` has decided."""

    __slots__ = ("_index", "_sender")

    def __init__(self, sender: MarkerSender, index: int) -> None:
        self._sender = sender
        self._index = index

    def perform(self, due: Due) -> None:
        assert isinstance(due, MarkersDue)
        self._sender.add(self._index, due)


class MarkerSender:
    """All transactions that end, of all machines of this node."""

    def __init__(self, node: CoordinatorHost, find_host: FindHost) -> None:
        self._node = node
        self._find_host = find_host
        self._endings: dict[tuple[int, str], Ending] = {}
        self._queues: dict[int, dict[Ending, set[TopicPartition]]] = {}
        self._under_way: dict[int, dict[Batch, None]] = {}
        self._resting: dict[Ending, set[TopicPartition]] = {}
        self._told: list[Ending] = []
        self._is_pumping = self._is_retrying = False

    def __len__(self) -> int:
        return len(self._endings)

    def add(self, index: int, due: MarkersDue) -> None:
        """A transaction is decided. One that is told anew takes the place of what was known of it."""
        ending = Ending(index, due)
        self._endings[index, due.transactional_id] = ending
        self._send(ending, due.partitions)

    def image_changed(self) -> None:
        """Whoever does not answer and is counted out by the cluster need not be waited for."""
        for broker_id, batches in list(self._under_way.items()):
            if not self._node.image.is_active(broker_id):
                for batch in list(batches):
                    self._answered(broker_id, batch, ErrorCode.NETWORK_EXCEPTION)

    # Who is told next.

    def _send(self, ending: Ending, partitions: Iterable[TopicPartition]) -> None:
        """Put partitions where their leaders are; if none are left, the transaction is over."""
        image = self._node.image
        for each in partitions:
            name, index = each
            topic = image.topic(name)
            if topic is None or index >= len(topic):
                ending.left.discard(each)
            elif topic.leaders[index] == NO_BROKER or not image.is_active(topic.leaders[index]):
                self._rest(ending, each)
            else:
                self._queues.setdefault(topic.leaders[index], {}).setdefault(ending, set()).add(each)
        if not ending.left:
            self._told.append(ending)
        self._pump_soon()

    def _pump_soon(self) -> None:
        if not self._is_pumping:
            self._is_pumping = True
            self._node.deadlines.soon(self._pump)

    def _pump(self) -> None:
        self._is_pumping = False
        told, self._told = self._told, []
        for ending in told:
            self._complete(ending)
        for broker_id in list(self._queues):
            while self._queues.get(broker_id) and len(self._under_way.get(broker_id, ())) < IN_FLIGHT_MAX:
                self._ask(broker_id)

    def _ask(self, broker_id: int) -> None:
        queue = self._queues[broker_id]
        taken = list(islice(queue, ENDINGS_PER_REQUEST_MAX))
        wanted = {ending: queue.pop(ending) for ending in taken}
        if not queue:
            del self._queues[broker_id]
        batch = Batch({ending: partitions for ending, partitions in wanted.items() if self._is_current(ending)})
        if batch.wanted:
            self._under_way.setdefault(broker_id, {})[batch] = None
            then = partial(self._answered, broker_id, batch)
            self._node.cluster.brokers.send(broker_id, MARKERS, batch.request(), then)

    # What became of it.

    def _answered(self, broker_id: int, batch: Batch, answer: Response | ErrorCode) -> None:
        batches = self._under_way.get(broker_id, {})
        if batch not in batches:
            return
        del batches[batch]
        if not batches:
            del self._under_way[broker_id]
        for ending, partitions in batch.wanted.items():
            if self._is_current(ending):
                self._heard(ending, partitions, batch.codes(ending, answer))
        self._pump_soon()

    def _heard(self, ending: Ending, partitions: set[TopicPartition], codes: dict[TopicPartition, ErrorCode]) -> None:
        if ErrorCode.TRANSACTION_COORDINATOR_FENCED in codes.values():
            # Somebody else is in charge, and knows how this ends.
            self._node.log(
                "warning", "coordinator", f"the coordinator of {ending.due.transactional_id} has a successor"
            )
            self._forget(ending)
            return
        for each in partitions:
            if codes.get(each, ErrorCode.NETWORK_EXCEPTION) in WRITTEN:
                ending.left.discard(each)
            else:
                self._rest(ending, each)
        if not ending.left:
            self._told.append(ending)

    def _complete(self, ending: Ending) -> None:
        """Nobody is left to be told: the machine writes that down. Where its log takes nothing, it is asked again."""
        due = ending.due
        if not self._is_current(ending):
            return
        try:
            host = self._find_host(ending.index)
            host.run(lambda machine: machine.markers_written(self._node.now_ms, due))
        except ApiError:
            # Whoever leads now, or this node when it has read its log, finds the transaction there.
            self._forget(ending)
            return
        if host.driver is not None and host.machine.awaits(due):
            self._resting.setdefault(ending, set())
            self._retry_later()
        else:
            self._forget(ending)

    def _forget(self, ending: Ending) -> None:
        if self._is_current(ending):
            del self._endings[ending.key]

    def _is_current(self, ending: Ending) -> bool:
        return self._endings.get(ending.key) is ending

    # What is tried again.

    def _rest(self, ending: Ending, each: TopicPartition) -> None:
        self._resting.setdefault(ending, set()).add(each)
        self._retry_later()

    def _retry_later(self) -> None:
        if not self._is_retrying:
            self._is_retrying = True
            self._node.deadlines.at(self._node.now_ms + RETRY_MS, self._retry)

    def _retry(self) -> None:
        self._is_retrying = False
        for ending in list(islice(self._resting, LOOKS_PER_TURN_MAX)):
            partitions = self._resting.pop(ending)
            if not self._is_current(ending):
                continue
            if self._is_ours(ending):
                self._send(ending, partitions)
            else:
                self._forget(ending)
        if self._resting:
            self._retry_later()

    def _is_ours(self, ending: Ending) -> bool:
        """Whether the machine that decided it is still here, and still waits for it."""
        try:
            return self._find_host(ending.index).machine.awaits(ending.due)
        except ApiError:
            return False
