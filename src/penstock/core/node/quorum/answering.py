"""What an answer of Raft still needs: bytes of the log or of a snapshot, which are read when they are sent; and a form
that its version has."""

from __future__ import annotations

from typing import Final

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.base.ports import FileFailure, Read, Steps
from penstock.core.log.log import Log
from penstock.core.node.quorum.snapshot_files import SnapshotFiles
from penstock.core.node.serving.slots import Answerable
from penstock.core.raft.decisions import Answer, LogRange, SnapshotRange
from penstock.core.raft.raft import Raft
from penstock.core.wire import Message
from penstock.core.wire.api.begin_quorum_epoch import BeginQuorumEpochRequest, BeginQuorumEpochResponse
from penstock.core.wire.api.end_quorum_epoch import EndQuorumEpochRequest, EndQuorumEpochResponse
from penstock.core.wire.api.fetch import FetchRequest, FetchResponse
from penstock.core.wire.api.fetch_snapshot import FetchSnapshotRequest, FetchSnapshotResponse
from penstock.core.wire.api.vote import VoteRequest, VoteResponse
from penstock.core.wire.schema import Request, Response

LEADER_IS_WHERE_SINCE: Final[dict[type[Request], int]] = {
    VoteRequest: 1,
    BeginQuorumEpochRequest: 1,
    EndQuorumEpochRequest: 1,
    FetchSnapshotRequest: 1,
    FetchRequest: 16,
}
"""From which version on the answer says at which address the leader is."""
_TELLING: Final = (
    VoteResponse,
    BeginQuorumEpochResponse,
    EndQuorumEpochResponse,
    FetchSnapshotResponse,
    FetchResponse,
)


class OldTicket(Answerable):
    """Somebody who asks in a version that has no room for that."""

    __slots__ = ("_ticket",)

    def __init__(self, ticket: Answerable) -> None:
        self._ticket = ticket

    @property
    def gone(self) -> bool:
        return self._ticket.gone

    @property
    def line(self) -> object:
        return self._ticket.line

    def reply(self, message: Message) -> None:
        assert isinstance(message, _TELLING), "only these say it"
        message.node_endpoints = []
        self._ticket.reply(message)


def ticket_for(ticket: Answerable, request: Request, version: int) -> Answerable:
    """Whom Raft is to answer."""
    return OldTicket(ticket) if version < LEADER_IS_WHERE_SINCE.get(type(request), 0) else ticket


def answer_with_body(answer: Answer, log: Log, files: SnapshotFiles, raft: Raft) -> Steps[Response]:
    match answer.body, answer.response:
        case LogRange() as wanted, FetchResponse() as response:
            yield from _fill_fetch(response, wanted, log, raft)
        case SnapshotRange() as wanted, FetchSnapshotResponse() as response:
            yield from _fill_snapshot(response, wanted, files)
        case _:
            raise AssertionError("this answer has no place for bytes")
    return answer.response


def _fill_fetch(response: FetchResponse, wanted: LogRange, log: Log, raft: Raft) -> Steps[None]:
    """What is not written yet cannot be read, and may never be: the follower asks again. Nor may anything be told in
    the name of an epoch that has ended while we read, as the log may be another's by then."""
    partition, epoch = response.responses[0].partitions[0], raft.election.epoch
    try:
        piece = yield from log.read(wanted.offset, wanted.bytes_max, log.written_offset, True)
        data: bytes = b"" if piece is None else (yield Read(piece.file, piece.position, piece.length))
    except (ApiError, FileFailure):
        data = b""
    partition.records = data if raft.election.epoch == epoch else b""


def _fill_snapshot(response: FetchSnapshotResponse, wanted: SnapshotRange, files: SnapshotFiles) -> Steps[None]:
    partition = response.topics[0].partitions[0]
    try:
        partition.unaligned_records = yield from files.read(wanted.id, wanted.position, wanted.bytes_max)
    except FileFailure:
        # It has made room for a newer one.
        partition.error_code = ErrorCode.SNAPSHOT_NOT_FOUND
