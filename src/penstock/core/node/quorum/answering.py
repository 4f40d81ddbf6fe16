"""Answers that carry bytes of the log or of a snapshot, which are read when they are sent."""

from __future__ import annotations

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.base.ports import FileFailure, Read, Steps
from penstock.core.log.log import Log
from penstock.core.node.quorum.snapshot_files import SnapshotFiles
from penstock.core.raft.decisions import Answer, LogRange, SnapshotRange
from penstock.core.raft.raft import Raft
from penstock.core.wire.api.fetch import FetchResponse
from penstock.core.wire.api.fetch_snapshot import FetchSnapshotResponse
from penstock.core.wire.schema import Response


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
