"""Somebody who deletes records from the beginning of partitions, up to some offset that is there."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from penstock.core.base.errors import ErrorCode
from penstock.core.wire.api.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
)
from penstock.sim.clients.client import Client, Disconnected
from penstock.sim.clients.consumer import EARLIEST, LATEST, Fetcher
from penstock.sim.events import DeleteAnswered, DeleteAsked, Partition
from penstock.sim.scheduler import MS, SECOND
from penstock.sim.script import Script, Sleep

TIMEOUT_MS = 30_000
REFUSALS = frozenset(
    {
        ErrorCode.OFFSET_OUT_OF_RANGE,  # A power cut has taken what was to be deleted.
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.KAFKA_STORAGE_ERROR,
    }
)


class Deleter:
    """Deletes now and then."""

    def __init__(
        self, client: Client, fetcher: Fetcher, partitions: Sequence[Partition], is_over: Callable[[], bool]
    ) -> None:
        self._client = client
        self._fetcher = fetcher
        self._partitions = partitions
        self._is_over = is_over

    def script(self) -> Script[None]:
        """Do so until it is over."""
        while not self._is_over():
            yield Sleep(self._client.chance.between(100 * MS, 3 * SECOND))
            try:
                yield from self._delete(self._client.chance.pick(self._partitions))
            except Disconnected:
                yield from self._client.back_off()
        self._client.disconnect()

    def _delete(self, partition: Partition) -> Script[None]:
        start = yield from self._fetcher.find_offset(partition, EARLIEST)
        end = yield from self._fetcher.find_offset(partition, LATEST)
        if start is None or end is None or end <= start:
            return
        offset = self._client.chance.skewed(start, end)
        wanted = DeleteRecordsPartition(partition_index=partition.number, offset=offset)
        topic = DeleteRecordsTopic(name=partition.topic, partitions=[wanted])
        yield from self._client.connect()
        witness = self._client.world.witness
        witness.see(DeleteAsked(partition, offset))
        request = DeleteRecordsRequest(topics=[topic], timeout_ms=TIMEOUT_MS)
        reply = yield from self._client.call(request, DeleteRecordsResponse)
        result = reply.topics[0].partitions[0]
        code = ErrorCode(result.error_code)
        assert code is ErrorCode.NONE or code in REFUSALS, f"{self._client.name} got {code!r}"
        if code is ErrorCode.NONE:
            witness.see(DeleteAnswered(partition, offset, result.low_watermark))
