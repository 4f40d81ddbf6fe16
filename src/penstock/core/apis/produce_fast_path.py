"""The fast path of the usual produce request: one batch for one partition, outside of a transaction or in one that has
begun there.

Almost every produce request looks like that, and the general way spends most of its time on building and reading the
message objects around the one batch. Here the few fields are read where they stand, and `produce_replies` fills in a
template. A producer with several requests in flight sends them alike but for the records, and they arrive together:
such a run is looked up once and written once.

Whatever is unusual, an error too, goes the general way. `tests/apis` holds both ways equal.
"""

from __future__ import annotations

from functools import lru_cache
from struct import Struct

from penstock.core.apis.produce_admission import refusal
from penstock.core.apis.produce_replies import ParkedRun, replies
from penstock.core.base.errors import ApiError
from penstock.core.node.node import Node
from penstock.core.node.serving.api import Api
from penstock.core.node.serving.connection import Connection
from penstock.core.node.serving.gates import OPEN, UNLIMITED
from penstock.core.node.serving.slots import Slot
from penstock.core.partition.partition import Appended, Partition
from penstock.core.partition.verification import ONGOING
from penstock.core.wire.frames import RequestHeader

FLEXIBLE_FROM = 9
IDS_FROM = 13

_OLD_HEAD = Struct(">hhiih")
"""Transactional id's length, acks, timeout, number of topics, length of the name."""
_OLD_PARTITION = Struct(">ii")
"""Number of partitions, index."""
_SIZE = Struct(">i")
_FLEXIBLE_HEAD = Struct(">bhiBB")
"""The same head with compact lengths, each of which is one more than what it counts."""
_FLEXIBLE_PARTITION = Struct(">Bi")
_NO_TAGS = bytes(3)
Found = tuple[Partition, int, int, int, str | None]
"""Partition, acks, timeout, where in the frame the size of the records stands, and the transactional id."""

RUN_BATCHES_MAX = 64
"""How many requests are served with one write; a reader of one buffer seldom finds more."""


def serve(
    node: Node, connection: Connection, api: Api[Node], frames: list[memoryview], at: int, header: RequestHeader
) -> int:
    """Serve the request at a place of what has arrived, and those behind it that differ from it in their correlation
    id and records only, as a producer with several in flight sends them. Gives how many were served; with 0 everything
    is as it was."""
    _, version, correlation_id, client_id, position = header
    frame = frames[at]
    flexible = version >= FLEXIBLE_FROM
    found = _find_flexible(node, frame, version, position) if flexible else _find(node, frame, position)
    if found is None:
        return 0
    partition, acks, timeout_ms, place, transactional_id = found
    context = connection.context
    if context.client_id != client_id:
        context = connection.context_of(client_id)
    if acks == 0 or refusal(node, context, partition, acks, transactional_id) is not None:
        return 0
    records = _flexible_records(frame, place) if flexible else _records(frame, place)
    if records is None:
        return 0
    run = [records]
    correlation_ids = [correlation_id]
    if at + 1 < len(frames):
        count_max = min(RUN_BATCHES_MAX, node.limits.slots_max - connection.waiting)
        _extend(run, correlation_ids, frames[at : at + count_max], place, flexible)
    try:
        vouched = None if transactional_id is None else ONGOING
        appended = partition.append_run(run, version, node.now_ms, acks, vouched)
    except ApiError:
        # What goes the general way is refused there, too, and told why.
        return 0
    if not appended:
        return 0
    throttle_ms = 0
    if node.gates is not OPEN and node.gates.quotas is not UNLIMITED:
        throttle_ms = node.gates.quotas.throttle_ms(context, api, sum(map(len, frames[at : at + len(appended)])))
    if partition.high_watermark < partition.log.end_offset and (end_offset := _awaited(partition, appended, acks)):
        slot = _slot(node, connection, api, header, len(appended), throttle_ms)
        ParkedRun(slot, partition, correlation_ids, appended, acks).wait(node, end_offset, timeout_ms)
        return len(appended)
    reply = replies(partition, version, correlation_ids, appended, throttle_ms)
    if connection.slots or throttle_ms:
        _slot(node, connection, api, header, len(appended), throttle_ms).reply_frame(reply)
    else:
        node.dispatcher.served(connection, api, len(appended))
        connection.put([reply], len(reply))
    return len(appended)


def _awaited(partition: Partition, appended: list[Appended], acks: int) -> int:
    """Up to where the log must be committed before the producer is answered; 0 if it is."""
    end_offset = max([each.next_offset for each in appended])
    reached = partition.high_watermark if acks != 1 else max(partition.high_watermark, partition.counted_end)
    return end_offset if reached < end_offset else 0


def _slot(
    node: Node, connection: Connection, api: Api[Node], header: RequestHeader, requests: int, throttle_ms: int
) -> Slot:
    """One place in line for some requests, of which this is the first one's header."""
    _, version, correlation_id, client_id, _ = header
    slot = Slot(connection, api, version, correlation_id, connection.context_of(client_id), node.now_us)
    slot.requests = requests
    if throttle_ms:
        slot.throttle(throttle_ms)
    connection.park(slot)
    return slot


def _extend(
    run: list[memoryview], correlation_ids: list[int], frames: list[memoryview], place: int, flexible: bool
) -> None:
    """Add the requests that follow the first and say the same up to the size of their records."""
    unpack = _prefix(place).unpack_from
    api_and_version, _, rest = unpack(frames[0])
    for frame in frames[1:]:
        if len(frame) < place:
            return
        found, correlation_id, found_rest = unpack(frame)
        if found_rest != rest or found != api_and_version:
            return
        records = _flexible_records(frame, place) if flexible else _records(frame, place)
        if records is None:
            return
        run.append(records)
        correlation_ids.append(correlation_id)


@lru_cache(maxsize=256)
def _prefix(place: int) -> Struct:
    """API and version, correlation id, and the rest of a request up to a place."""
    return Struct(f">4si{place - 8}s")


def _find(node: Node, frame: memoryview, position: int) -> Found | None:
    """Versions 3 to 8. What does not fit the picture, truncated frames too, is left to the general way."""
    if len(frame) < position + _OLD_HEAD.size:
        return None
    transactional, acks, timeout_ms, topics, length = _OLD_HEAD.unpack_from(frame, position)
    transactional_id = None
    if transactional != -1:
        transactional_id = _text(frame, position + 2, transactional, _OLD_HEAD.size)
        if transactional_id is None:
            return None
        position += transactional
        _, acks, timeout_ms, topics, length = _OLD_HEAD.unpack_from(frame, position)
    position += _OLD_HEAD.size
    if topics != 1 or length < 0 or len(frame) < position + length + _OLD_PARTITION.size:
        return None
    partitions = node.replicas.by_name.get(bytes(frame[position : position + length]))
    count, index = _OLD_PARTITION.unpack_from(frame, position + length)
    if partitions is None or count != 1:
        return None
    partition = partitions.get(index)
    place = position + length + _OLD_PARTITION.size
    return None if partition is None else (partition, acks, timeout_ms, place, transactional_id)


def _text(frame: memoryview, start: int, length: int, behind: int) -> str | None:
    """A transactional id, if one stands there and enough behind it. The head is then read anew from as much further on,
    where its first field holds the end of the id."""
    if length < 0 or len(frame) < start + length + behind:
        return None
    try:
        return str(frame[start : start + length], "utf-8")
    except UnicodeDecodeError:
        return None


def _records(frame: memoryview, place: int) -> memoryview | None:
    """The records, if they are all that follows."""
    start = place + 4
    if len(frame) < start or _SIZE.unpack_from(frame, place)[0] != len(frame) - start:
        return None
    return frame[start:]


def _find_flexible(node: Node, frame: memoryview, version: int, position: int) -> Found | None:
    """Versions 9 to 13."""
    end = len(frame)
    if end < position + _FLEXIBLE_HEAD.size:
        return None
    transactional, acks, timeout_ms, topics, length = _FLEXIBLE_HEAD.unpack_from(frame, position)
    transactional_id = None
    if transactional != 0:
        transactional_id = _text(frame, position + 1, transactional - 1, _FLEXIBLE_HEAD.size)
        if transactional_id is None:
            return None
        position += transactional - 1
        _, acks, timeout_ms, topics, length = _FLEXIBLE_HEAD.unpack_from(frame, position)
    position += _FLEXIBLE_HEAD.size
    if version >= IDS_FROM:
        # An id has no length in front: what was read as one is its first byte.
        position, length = position - 1, 17
    if topics != 2 or not 0 < length < 0x80 or end < position + length + 4:
        return None
    name = bytes(frame[position : position + length - 1])
    partitions = (node.replicas.by_id if version >= IDS_FROM else node.replicas.by_name).get(name)
    count, index = _FLEXIBLE_PARTITION.unpack_from(frame, position + length - 1)
    if partitions is None or count != 2:
        return None
    partition = partitions.get(index)
    place = position + length - 1 + _FLEXIBLE_PARTITION.size
    return None if partition is None else (partition, acks, timeout_ms, place, transactional_id)


def _flexible_records(frame: memoryview, place: int) -> memoryview | None:
    """The records, if nothing but the ends of partition, topic and request without tags follows them."""
    end = len(frame) - len(_NO_TAGS)
    if frame[end:] != _NO_TAGS:
        return None
    size = shift = 0
    while place < end and shift <= 28:
        byte = frame[place]
        place += 1
        size |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            break
    return frame[place:end] if place + size - 1 == end else None
