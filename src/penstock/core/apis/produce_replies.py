"""What producers are told of batches that went straight into the log: at once, or when they are committed.

A reply is a template with three numbers put in. The template comes from the general encoder, so that its layout is
known in one place only; errors are encoded that way altogether.
"""

from __future__ import annotations

from struct import Struct
from typing import cast

from penstock.core.apis.pending_produce import NO_OFFSET
from penstock.core.base.errors import ErrorCode
from penstock.core.node.deadlines import Deadline
from penstock.core.node.node import Node
from penstock.core.node.serving.leader_hints import PRODUCE_HINTS_SINCE, hint_producer
from penstock.core.node.serving.slots import Slot
from penstock.core.partition.partition import Appended, Partition
from penstock.core.wire.api.produce import PartitionProduceResponse, ProduceResponse, TopicProduceResponse
from penstock.core.wire.frames import response_frame

START_OFFSET_FROM = 5

_MARK = 0x7ACE_0FF5_E700_7ACE
_OFFSETS = Struct(">qq")
_OFFSETS_AND_START = Struct(">qqq")
_FRAME = Struct(">ii")

Template = tuple[bytes, bytes, int]
"""What stands before the offsets, what stands behind them, and the size that the frame says it has."""


def replies(
    partition: Partition, version: int, correlation_ids: list[int], appended: list[Appended], throttle_ms: int
) -> bytes:
    """One after the other, for as many requests as were appended."""
    template = None if throttle_ms else partition.templates.get(version)
    before, behind, size = template or _template(partition, version, throttle_ms)
    start_offset = partition.log.start_offset
    parts: list[bytes] = []
    for correlation_id, (base_offset, _, time_ms) in zip(correlation_ids, appended, strict=False):
        if version >= START_OFFSET_FROM:
            offsets = _OFFSETS_AND_START.pack(base_offset, time_ms, start_offset)
        else:
            offsets = _OFFSETS.pack(base_offset, time_ms)
        parts += (_FRAME.pack(size, correlation_id), before, offsets, behind)
    return b"".join(parts)


class ParkedRun:
    """Requests whose batches were written together, and which wait until the last of these is committed."""

    __slots__ = ("_acks", "_appended", "_correlation_ids", "_deadline", "_node", "_partition", "_slot")

    def __init__(
        self, slot: Slot, partition: Partition, correlation_ids: list[int], appended: list[Appended], acks: int
    ) -> None:
        self._slot = slot
        self._partition = partition
        self._correlation_ids = correlation_ids
        self._appended = appended
        self._acks = acks
        self._deadline: Deadline | None = None

    def wait(self, node: Node, end_offset: int, timeout_ms: int) -> None:
        self._node = node
        self._deadline = node.deadlines.at(node.now_ms + max(timeout_ms, 0), self._timed_out)
        if not self._partition.wait(end_offset, self, self._acks):
            self.committed(self._partition, ErrorCode.NONE)

    def committed(self, partition: Partition, error: ErrorCode) -> None:
        deadline, self._deadline = self._deadline, None
        if deadline is None:
            # The producer has heard already that its time is up.
            return
        deadline.cancel()
        throttle_ms = self._slot.throttle_ms
        if error is ErrorCode.NONE:
            frames = replies(partition, self._slot.version, self._correlation_ids, self._appended, throttle_ms)
        else:
            frames = self._failures(error, partition.counted_end if self._acks == 1 else partition.high_watermark)
        self._slot.reply_frame(frames)

    def _timed_out(self) -> None:
        self.committed(self._partition, ErrorCode.REQUEST_TIMED_OUT)

    def _failures(self, error: ErrorCode, reached_offset: int) -> bytes:
        """What was reached is told as the success it is: the producer would send it again otherwise."""
        partition, frames = self._partition, list[bytes]()
        for correlation_id, appended in zip(self._correlation_ids, self._appended, strict=False):
            result = _result(partition, appended.base_offset, appended.append_time_ms, partition.log.start_offset)
            if appended.next_offset > reached_offset:
                result.error_code, result.base_offset = error, NO_OFFSET
            throttle_ms = self._slot.throttle_ms
            response = ProduceResponse(responses=[_topic(partition, result)], throttle_time_ms=throttle_ms)
            if self._slot.version >= PRODUCE_HINTS_SINCE:
                hint_producer(self._node.image, self._slot.context.listener, response)
            frames += cast(list[bytes], response_frame(response, self._slot.version, correlation_id))
        return b"".join(frames)


def _template(partition: Partition, version: int, throttle_ms: int) -> Template:
    """Encode the reply the general way with a mark for the base offset, and cut it there."""
    result = _result(partition, _MARK, 0, 0)
    response = ProduceResponse(responses=[_topic(partition, result)], throttle_time_ms=throttle_ms)
    encoded = b"".join(response_frame(response, version, 0))  # type: ignore[arg-type]  # no records, so only bytes
    at = encoded.rindex(_MARK.to_bytes(8, "big"))
    width = _OFFSETS_AND_START.size if version >= START_OFFSET_FROM else _OFFSETS.size
    template = encoded[_FRAME.size : at], encoded[at + width :], len(encoded) - 4
    if not throttle_ms:
        partition.templates[version] = template
    return template


def _topic(partition: Partition, result: PartitionProduceResponse) -> TopicProduceResponse:
    return TopicProduceResponse(name=partition.topic, topic_id=partition.topic_id, partition_responses=[result])


def _result(partition: Partition, base_offset: int, time_ms: int, start_offset: int) -> PartitionProduceResponse:
    return PartitionProduceResponse(
        index=partition.index,
        error_code=ErrorCode.NONE,
        base_offset=base_offset,
        log_append_time_ms=time_ms,
        log_start_offset=start_offset,
    )
