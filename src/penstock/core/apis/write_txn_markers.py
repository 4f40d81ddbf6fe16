"""WriteTxnMarkers (27). Versions 1 and 2: transaction coordinators say how transactions ended; 2 adds by which version
of the protocol.

Each partition has an answer of its own, which leaves when its marker is committed. A marker for group coordinators ends
the transaction in their machine as well.
"""

from __future__ import annotations

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.node.coordination.groups import OFFSETS_TOPIC
from penstock.core.node.deadlines import Deadline
from penstock.core.node.node import Node
from penstock.core.node.serving.access import Operation, Resource, Touches
from penstock.core.node.serving.api import PENDING, Answer, Api
from penstock.core.node.serving.slots import Answerable, Slot
from penstock.core.partition.partition import Partition
from penstock.core.rsm.result import Marker, Result, Transaction
from penstock.core.wire import Message
from penstock.core.wire.api.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopic,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)

NOT_READY = frozenset(
    (ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.NOT_COORDINATOR)
)
"""Transaction coordinators know these of themselves only: of a group coordinator they hear NOT_LEADER_OR_FOLLOWER, and
come again."""


def handle(node: Node, request: WriteTxnMarkersRequest, slot: Slot) -> Answer:
    return _Markers(node, slot).write(request)


class _Markers:
    """One request, until every marker in it is committed or refused, or the time for that is over."""

    def __init__(self, node: Node, slot: Slot) -> None:
        self._node = node
        self._slot = slot
        self._response = WriteTxnMarkersResponse(markers=[])
        self._waiting: dict[_Place, None] = {}
        self._deadline: Deadline | None = None

    def write(self, request: WriteTxnMarkersRequest) -> Answer:
        self._response.markers = [
            WritableTxnMarkerResult(
                producer_id=each.producer_id, topics=[self._write_topic(_marker(each), topic) for topic in each.topics]
            )
            for each in request.markers
        ]
        if not self._waiting:
            return self._response
        timeout_ms = self._node.settings["request.timeout.ms"]
        self._deadline = self._node.deadlines.at(self._node.now_ms + timeout_ms, self._timed_out)
        return PENDING

    def _write_topic(self, marker: Marker, topic: WritableTxnMarkerTopic) -> WritableTxnMarkerTopicResult:
        places = [_Place(self, topic.name, index) for index in topic.partition_indexes]
        for place in places:
            self._waiting[place] = None
            self._write_to(marker, place)
        return WritableTxnMarkerTopicResult(name=topic.name, partitions=[place.result for place in places])

    def _write_to(self, marker: Marker, place: _Place) -> None:
        node, index = self._node, place.result.partition_index
        partition = node.replicas.get(place.topic, index)
        try:
            if partition is None:
                raise ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            if place.topic == OFFSETS_TOPIC:
                # It changes what a machine keeps, and nothing else of it.
                result = Result(replies=[(place, place.alone())], marker=marker, is_only_record=True)
                node.coordinators.groups.at(index).run(lambda _: result)
            elif not partition.wait(partition.end_transaction(marker, node.now_ms), place):
                self.settle(place, ErrorCode.NONE)
        except ApiError as error:
            self.settle(place, error.code)

    def settle(self, place: _Place, code: ErrorCode) -> None:
        """Known is what became of a marker, or that it takes too long."""
        if place not in self._waiting:
            return
        del self._waiting[place]
        if code is not ErrorCode.NONE:
            told = ErrorCode.NOT_LEADER_OR_FOLLOWER if code in NOT_READY else code
            place.result.error_code = self._node.error("WriteTxnMarkers", told)
        if self._deadline is not None and not self._waiting:
            self._deadline.cancel()
            self._slot.reply(self._response)

    def _timed_out(self) -> None:
        """The markers may still be written; whoever sent them sends them again."""
        for place in list(self._waiting):
            self.settle(place, ErrorCode.REQUEST_TIMED_OUT)


class _Place(Answerable):
    """A marker in one partition: waits for its commit, or for the machine that it is for."""

    __slots__ = ("_markers", "result", "topic")

    def __init__(self, markers: _Markers, topic: str, index: int) -> None:
        self._markers = markers
        self.topic = topic
        self.result = WritableTxnMarkerPartitionResult(partition_index=index, error_code=ErrorCode.NONE)

    def alone(self) -> WriteTxnMarkersResponse:
        """What a machine gives, or refuses: a message around this result."""
        topic = WritableTxnMarkerTopicResult(name=self.topic, partitions=[self.result])
        return WriteTxnMarkersResponse(markers=[WritableTxnMarkerResult(topics=[topic])])

    def committed(self, partition: Partition, error: ErrorCode) -> None:
        self._markers.settle(self, error)

    def reply(self, message: Message) -> None:
        self._markers.settle(self, ErrorCode(self.result.error_code))


def _marker(asked: WritableTxnMarker) -> Marker:
    transaction = Transaction(asked.producer_id, asked.producer_epoch)
    return Marker(transaction, asked.transaction_result, asked.coordinator_epoch, asked.transaction_version)


ALTER = Touches(Operation.ALTER, Resource.CLUSTER)
API = Api(
    WriteTxnMarkersRequest, range(1, 3), handle, (Touches(Operation.CLUSTER_ACTION, Resource.CLUSTER, unless=ALTER),)
)
