"""The metadata of a cluster as its controllers keep it: the log and its snapshot, read as an observer reads them.

What is read ends at one offset, the high watermark of when reading began: everything before it, and nothing of what
came later. No other request gives that, nor the credentials of users.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from penstock.client.admin import Admin
from penstock.client.blocking import Client
from penstock.client.errors import ClientError, check
from penstock.client.quorum import METADATA_TOPIC, Member, Quorum, describe_quorum
from penstock.client.security import OPEN, Security
from penstock.core.base.endpoints import SecurityProtocol
from penstock.core.base.errors import ErrorCode
from penstock.core.metadata.fold import Fold
from penstock.core.metadata.framing import decode_record
from penstock.core.metadata.image import BROKER_RESOURCE, Image
from penstock.core.raft.ids import TOPIC_ID, LogEnd
from penstock.core.records import checksum
from penstock.core.records.batch import iterate_headers
from penstock.core.records.record import iterate
from penstock.core.wire.api.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic, PartitionData
from penstock.core.wire.api.fetch_snapshot import (
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    RequestPartitionSnapshot,
    RequestSnapshotId,
    RequestTopicSnapshot,
    ResponsePartitionSnapshot,
)

FETCH_BYTES: Final = 1 << 23
WAIT_MS: Final = 500
_PROTOCOLS: Final = "listener.security.protocol.map"


class Metadata(NamedTuple):
    """What a metadata log says up to where it ends."""

    image: Image
    end: LogEnd


def read_metadata(client: Client, security: Security, controllers: Security | None = None) -> Metadata:
    """Everything that was committed when this began. `security` is how the client gets in at brokers, and at
    controllers too unless these are said to have a way of their own."""

    def attempt() -> Metadata:
        quorum = describe_quorum(client)
        leader = next((each for each in quorum.voters if each.node_id == quorum.leader), None)
        if leader is None or not leader.addresses:
            raise ClientError("no controller leads", code=ErrorCode.LEADER_NOT_AVAILABLE)
        way_in = _way_in(client, leader, security) if controllers is None else controllers
        with Client(leader.addresses[:1], timeout=client.timeout, patient=True, security=way_in) as controller:
            return _Reader(controller, quorum).read()

    return client.retry(attempt)


def _way_in(client: Client, leader: Member, security: Security) -> Security:
    """Controllers may listen in the open where brokers do not; a name that is mapped to nothing means itself."""
    settings = Admin(client).describe_configs(BROKER_RESOURCE, str(leader.node_id), [_PROTOCOLS])
    pairs = [pair.partition(":") for setting in settings for pair in (setting.value or "").split(",")]
    name = leader.listeners[0]
    protocol = {listener.strip(): mapped.strip() for listener, _, mapped in pairs}.get(name, name)
    if protocol == SecurityProtocol.PLAINTEXT.name or protocol not in SecurityProtocol.__members__:
        return OPEN
    if protocol != security.protocol.name:
        raise ClientError(
            f"the controllers listen with {protocol}, and brokers with {security.protocol.name}",
            hint="say how to get in at controllers with --controller-config FILE",
        )
    return security


class _Reader:
    """Folds what it is given, from the first record on."""

    def __init__(self, controller: Client, quorum: Quorum) -> None:
        self._controller = controller
        self._epoch = quorum.epoch
        self._until = quorum.high_watermark
        self._end = LogEnd(0, 0)
        self._fold = Fold(Image(), -1)

    def read(self) -> Metadata:
        while self._end.offset < self._until:
            data = self._fetch()
            snapshot = data.snapshot_id
            if snapshot is not None and snapshot.end_offset >= 0:
                self._take_snapshot(LogEnd(snapshot.epoch, snapshot.end_offset))
            else:
                self._take(_bytes(data.records))
        image = self._fold.finish()
        return Metadata(Fold(image, self._end.offset - 1).finish(), self._end)

    def _fetch(self) -> PartitionData:
        partition = FetchPartition(
            partition=0,
            current_leader_epoch=self._epoch,
            fetch_offset=self._end.offset,
            last_fetched_epoch=self._end.epoch,
            partition_max_bytes=FETCH_BYTES,
        )
        topic = FetchTopic(topic=METADATA_TOPIC, topic_id=TOPIC_ID, partitions=[partition])
        request = FetchRequest(max_wait_ms=WAIT_MS, min_bytes=1, max_bytes=FETCH_BYTES, topics=[topic])
        answer = self._controller.ask(request, FetchResponse)
        check(answer.error_code, "the metadata log")
        data = answer.responses[0].partitions[0]
        check(data.error_code, "the metadata log")
        return data

    def _take(self, blob: bytes) -> None:
        for at, header in iterate_headers(blob, partial_tail=True):
            if header.next_offset > self._until or header.next_offset <= self._end.offset:
                continue
            if not checksum.is_valid(blob, at, header):
                raise ClientError("the metadata log came damaged", code=ErrorCode.CORRUPT_MESSAGE)
            if not header.is_control:
                self._apply(blob, at)
            self._end = LogEnd(header.leader_epoch, header.next_offset)

    def _apply(self, blob: bytes, at: int) -> None:
        for record in iterate(blob, at):
            self._fold.apply(decode_record(record.value or b""))

    def _take_snapshot(self, end: LogEnd) -> None:
        """It stands for all that came before it; what was read so far is a part of that."""
        blob = self._snapshot(end)
        self._fold = Fold(Image(), -1)
        for at, header in iterate_headers(blob):
            if not checksum.is_valid(blob, at, header):
                raise ClientError("a snapshot of the metadata came damaged", code=ErrorCode.CORRUPT_MESSAGE)
            if not header.is_control:
                self._apply(blob, at)
        self._end = end
        self._until = max(self._until, end.offset)

    def _snapshot(self, end: LogEnd) -> bytes:
        found = bytearray()
        while True:
            part = self._snapshot_part(end, len(found))
            found += _bytes(part.unaligned_records)
            if len(found) >= part.size:
                return bytes(found)

    def _snapshot_part(self, end: LogEnd, position: int) -> ResponsePartitionSnapshot:
        partition = RequestPartitionSnapshot(
            partition=0,
            current_leader_epoch=self._epoch,
            snapshot_id=RequestSnapshotId(end_offset=end.offset, epoch=end.epoch),
            position=position,
        )
        topic = RequestTopicSnapshot(name=METADATA_TOPIC, partitions=[partition])
        request = FetchSnapshotRequest(max_bytes=FETCH_BYTES, topics=[topic])
        answer = self._controller.ask(request, FetchSnapshotResponse)
        check(answer.error_code, "a snapshot of the metadata")
        part = answer.topics[0].partitions[0]
        if part.error_code == ErrorCode.SNAPSHOT_NOT_FOUND:
            raise ClientError("a newer snapshot took its place", code=ErrorCode.REQUEST_TIMED_OUT)
        check(part.error_code, "a snapshot of the metadata")
        return part


def _bytes(records: object) -> bytes:
    assert records is None or isinstance(records, bytes | bytearray | memoryview), "a decoded answer holds bytes"
    return bytes(records or b"")
