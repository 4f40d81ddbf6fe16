"""The usual produce request, straight through: one batch for one partition, outside of a transaction.

Almost every produce request looks like that, and the general way spends most of its time on building and reading the
message objects around the one batch. Here the few fields are read where they stand, and the reply is a template with
three numbers put in. The template comes from the general encoder, so that its layout is known in one place only;
whatever is unusual (an error, too) goes the general way. `tests/apis` holds both ways equal.
"""

from __future__ import annotations

from struct import Struct

from penstock.core.apis.pending_produce import PendingProduce
from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.node.connection import Connection
from penstock.core.node.node import Node
from penstock.core.node.slots import PENDING, Api, Slot
from penstock.core.partition.partition import Appended, Partition
from penstock.core.wire.api.produce import PartitionProduceResponse, ProduceResponse, TopicProduceResponse
from penstock.core.wire.frames import RequestHeader, response_frame

FLEXIBLE_FROM = 9
IDS_FROM = 13
START_OFFSET_FROM = 5

_OLD_HEAD = Struct(">hhiih")
"""Transactional id's length, acks, timeout, number of topics, length of the name."""
_OLD_PARTITION = Struct(">iii")
"""Number of partitions, index, length of the records."""
_FLEXIBLE_HEAD = Struct(">bhiBB")
"""The same head with compact lengths, each of which is one more than what it counts."""
_FLEXIBLE_PARTITION = Struct(">Bi")
_NO_TAGS = bytes(3)
_MARK = 0x7ACE_0FF5_E700_7ACE
_OFFSETS = Struct(">qq")
_OFFSETS_AND_START = Struct(">qqq")
_FRAME = Struct(">ii")

Template = tuple[bytes, bytes, int]
"""What stands before the offsets, what stands behind them, and the size that the frame says it has."""

Found = tuple[Partition, memoryview, int, int]
"""Partition, records, acks, timeout."""


def serve(node: Node, connection: Connection, api: Api, frame: memoryview, header: RequestHeader) -> bool:
    """Serve the request, or leave everything as it was and say False."""
    _, version, correlation_id, _, position = header
    found = _find_flexible(node, frame, version, position) if version >= FLEXIBLE_FROM else _find(node, frame, position)
    if found is None or node.disk_full:
        return False
    partition, records, acks, timeout_ms = found
    if acks not in (1, -1) or partition.internal:
        return False
    try:
        appended = partition.append(records, version, node.now_ms)
    except ApiError:
        # A refused append has changed nothing: the general way refuses it again, and says why.
        return False
    if partition.high_watermark < appended.next_offset:
        _park(node, connection, api, version, correlation_id, partition, appended, timeout_ms)
        return True
    before, behind, size = partition.templates.get(version) or _template(partition, version)
    start_offset = partition.log.start_offset
    if version >= START_OFFSET_FROM:
        offsets = _OFFSETS_AND_START.pack(appended.base_offset, appended.append_time_ms, start_offset)
    else:
        offsets = _OFFSETS.pack(appended.base_offset, appended.append_time_ms)
    reply = b"".join((_FRAME.pack(size, correlation_id), before, offsets, behind))
    connection.put([reply], len(reply))
    return True


def _find(node: Node, frame: memoryview, position: int) -> Found | None:
    """Versions 3 to 8. What does not fit the picture, truncated frames too, is left to the general way."""
    if len(frame) < position + _OLD_HEAD.size:
        return None
    transactional, acks, timeout_ms, topics, length = _OLD_HEAD.unpack_from(frame, position)
    position += _OLD_HEAD.size
    if transactional != -1 or topics != 1 or length < 0 or len(frame) < position + length + _OLD_PARTITION.size:
        return None
    partitions = node.replicas.by_name.get(bytes(frame[position : position + length]))
    count, index, size = _OLD_PARTITION.unpack_from(frame, position + length)
    position += length + _OLD_PARTITION.size
    if partitions is None or count != 1 or position + size != len(frame):
        return None
    partition = partitions.get(index)
    return None if partition is None else (partition, frame[position:], acks, timeout_ms)


def _find_flexible(node: Node, frame: memoryview, version: int, position: int) -> Found | None:
    """Versions 9 to 13."""
    end = len(frame) - len(_NO_TAGS)
    if end < position + _FLEXIBLE_HEAD.size or frame[end:] != _NO_TAGS:
        return None
    transactional, acks, timeout_ms, topics, length = _FLEXIBLE_HEAD.unpack_from(frame, position)
    position += _FLEXIBLE_HEAD.size
    if version >= IDS_FROM:
        # An id has no length in front: what was read as one is its first byte.
        position, length = position - 1, 17
    if transactional != 0 or topics != 2 or not 0 < length < 0x80 or end < position + length + 4:
        return None
    name = bytes(frame[position : position + length - 1])
    partitions = (node.replicas.by_id if version >= IDS_FROM else node.replicas.by_name).get(name)
    count, index = _FLEXIBLE_PARTITION.unpack_from(frame, position + length - 1)
    position += length - 1 + _FLEXIBLE_PARTITION.size
    size = shift = 0
    while position < end and shift <= 28:
        byte = frame[position]
        position += 1
        size |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            break
    if partitions is None or count != 2 or position + size - 1 != end:
        return None
    partition = partitions.get(index)
    return None if partition is None else (partition, frame[position:end], acks, timeout_ms)


def _template(partition: Partition, version: int) -> Template:
    """Encode the reply the general way with a mark for the base offset, and cut it there."""
    response = ProduceResponse(responses=[_topic(partition, _result(partition, _MARK, 0, 0))])
    encoded = b"".join(response_frame(response, version, 0))  # type: ignore[arg-type]  # no records, so only bytes
    at = encoded.index(_MARK.to_bytes(8, "big"))
    width = _OFFSETS_AND_START.size if version >= START_OFFSET_FROM else _OFFSETS.size
    template = encoded[_FRAME.size : at], encoded[at + width :], len(encoded) - 4
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


def _park(
    node: Node,
    connection: Connection,
    api: Api,
    version: int,
    correlation_id: int,
    partition: Partition,
    appended: Appended,
    timeout_ms: int,
) -> None:
    """Not committed yet: the reply waits in a slot, as on the general way."""
    result = _result(partition, appended.base_offset, appended.append_time_ms, partition.log.start_offset)
    response = ProduceResponse(responses=[_topic(partition, result)])
    slot = Slot(connection, api, version, correlation_id, None, node.now_us)
    pending = PendingProduce(slot, response)
    pending.add(partition, appended.next_offset, result)
    connection.slots.append(slot)
    if pending.start(node, timeout_ms) is not PENDING:
        slot.reply(response)
