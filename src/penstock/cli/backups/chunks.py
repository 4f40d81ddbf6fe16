"""A partition's batches, byte for byte as its leader has them, in files of some size."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from penstock.cli.backups.manifest import DATA, Chunk, PartitionBackup, StoredFile, sha256
from penstock.cli.backups.store import Store
from penstock.cli.talk import Refused
from penstock.client.blocking import Client
from penstock.client.metadata import TopicPartition
from penstock.client.ranges import Fetched, RangeLost, RangeReader
from penstock.core.base.errors import ErrorCode
from penstock.core.base.ports import Buffer
from penstock.core.log.segment import RELATIVE_OFFSET_MAX
from penstock.core.metadata.storage import uuid_text
from penstock.core.records import checksum
from penstock.core.records.batch import BatchHeader

CHUNK_BYTES: Final = 32 << 20
"""What is held in memory before it is written; a restored partition has segments of this size."""
FETCH_BYTES: Final = 4 << 20


class Cut(NamedTuple):
    """What of a partition belongs to a backup. A compacted log changes below its end, any other one only grows."""

    where: TopicPartition
    topic_id: bytes
    start: int
    end: int
    is_compacted: bool


class PartitionReader:
    """Reads one partition up to its cut, behind what an earlier backup has of it."""

    def __init__(self, client: Client, store: Store, cut: Cut, known: PartitionBackup | None) -> None:
        self._client = client
        self._store = store
        self._cut = cut
        self._start = cut.start
        self._end = cut.end
        self._chunks: list[Chunk] = [] if known is None else [each for each in known.chunks if each.end > cut.start]
        self._epoch = -1 if known is None or not self._chunks else known.epoch
        self._open = bytearray()
        # Where the open chunk begins, and where it ends so far.
        self._first: int | None = self._chunks[-1].end if self._chunks else None
        self._next = self._first or 0

    def read(self) -> PartitionBackup:
        while not self._is_read():
            pass
        self._close()
        where = self._cut.where
        topic_id = uuid_text(self._cut.topic_id)
        return PartitionBackup(
            *(where.topic, topic_id, where.partition, self._start, self._end),
            *(self._epoch, self._cut.is_compacted, tuple(self._chunks)),
        )

    def _is_read(self) -> bool:
        """Read on; False where retention has been faster, and what is left is to be read from its beginning."""
        reader = RangeReader(
            self._client,
            self._cut.where,
            max(self._start, self._next),
            self._cut.end,
            topic_id=self._cut.topic_id,
            fetch_bytes=FETCH_BYTES,
            stall_seconds_max=self._client.timeout,
        )
        try:
            for fetched in reader:
                for batch, header in self._whole(fetched):
                    self._take(batch, header)
        except RangeLost as loss:
            self._begin_anew(loss)
            return False
        return True

    def _whole(self, fetched: Fetched) -> Iterator[tuple[Buffer, BatchHeader]]:
        """Batches that end at the cut or before; what the leader keeps badly is not handed on as good."""
        for at, header in fetched.batches:
            if header.next_offset > self._cut.end:
                self._end = min(self._end, header.base_offset)
                return
            if not checksum.is_valid(fetched.blob, at, header):
                raise Refused(
                    f"{self._cut.where} is damaged at offset {header.base_offset}",
                    "`penstock storage verify` on a stopped node says what is wrong; another replica may be whole",
                )
            yield memoryview(fetched.blob)[at : at + header.size], header

    def _begin_anew(self, loss: RangeLost) -> None:
        """Retention was faster, and took what was read already with it. Any other loss is one."""
        if loss.code != ErrorCode.OFFSET_OUT_OF_RANGE or loss.resume <= self._next or loss.resume >= self._cut.end:
            raise loss
        self._start, self._first, self._next = loss.resume, None, 0
        self._chunks.clear()
        self._open.clear()

    def _take(self, batch: Buffer, header: BatchHeader) -> None:
        if self._first is None:
            self._first = min(self._start, header.base_offset)
        is_full = len(self._open) + header.size > CHUNK_BYTES
        if self._open and (is_full or header.last_offset - self._first > RELATIVE_OFFSET_MAX):
            self._close()
        self._open += batch
        self._next = header.next_offset
        self._epoch = header.leader_epoch

    def _close(self) -> None:
        """A chunk ends where its last batch does, and the next one begins there: segments of a log do so."""
        if not self._open:
            return
        assert self._first is not None, "what is open has a beginning"
        data = bytes(self._open)
        digest = sha256(data)
        where = self._cut.where
        folder = f"{DATA}/{uuid_text(self._cut.topic_id)}/{where.partition}"
        path = f"{folder}/{self._first:020d}-{self._next:020d}-{digest[:16]}.log"
        self._store.put(path, data)
        self._chunks.append(Chunk(self._first, self._next, StoredFile(path, len(data), digest)))
        self._first = self._next
        self._open.clear()
