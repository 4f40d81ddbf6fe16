"""The usual answer to a follower, put together from a template: one partition has more for it.

The template comes from the general encoder, so that its layout is known in one place only. Whatever is unusual goes the
general way; `tests/node` holds both ways equal.
"""

from __future__ import annotations

from struct import Struct
from typing import Any, Final, NamedTuple

from penstock.core.base.ports import Slice
from penstock.core.node.serving.slots import Part
from penstock.core.partition.replicated import ReplicatedLeader
from penstock.core.wire.api.fetch import FetchableTopicResponse, FetchResponse, PartitionData
from penstock.core.wire.frames import response_frame
from penstock.core.wire.varint import encode_varint

SINCE: Final = 13
"""Before, topics had names in an answer, and lengths four bytes."""

_MARK: Final = 0x7ACE_0FF5_E700_7ACE
_OFFSETS: Final = Struct(">qqq")
_FRAME: Final = Struct(">ii")
_ONE_BYTE: Final = b"\0"


class Template(NamedTuple):
    """What stands before the offsets, between them and the length of the records, and behind the records."""

    version: int
    before: bytes
    between: bytes
    behind: bytes

    @classmethod
    def make(cls, version: int, session_id: int, topic_id: bytes, index: int) -> Template:
        data = PartitionData(partition_index=index, high_watermark=_MARK, aborted_transactions=None, records=_ONE_BYTE)
        topic = FetchableTopicResponse(topic_id=topic_id, partitions=[data])
        response = FetchResponse(session_id=session_id, responses=[topic])
        parts: list[Any] = response_frame(response, version, 0)
        head, _, behind = parts
        at = head.rindex(_MARK.to_bytes(8, "big"))
        return cls(version, head[_FRAME.size : at], head[at + _OFFSETS.size : -1], behind)

    def fill(self, correlation_id: int, leader: ReplicatedLeader, piece: Slice) -> tuple[list[Part], int]:
        """The framed answer as parts to send, and their size."""
        _, before, between, behind = self
        end, length = leader.high_watermark, piece.length
        offsets = _OFFSETS.pack(end, leader.last_stable_offset, leader.log.start_offset)
        body = b"".join((before, offsets, between, encode_varint(length + 1)))
        size = _FRAME.size + len(body) + length + len(behind)
        return [_FRAME.pack(size - 4, correlation_id) + body, piece, behind], size
