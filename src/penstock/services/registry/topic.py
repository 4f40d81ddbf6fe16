"""The topic `_schemas` from a client's side: made where it is missing, followed, and written by one at a time.

Each write is a transaction under the registry's transactional id. Whoever takes over begins with that id, which fences
all who wrote before: they cannot write any more, and so no two of them give the same id. Then it writes a record that
says nothing and reads until it sees it: now it knows all there is.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from typing import Final

from penstock.client.admin import Admin
from penstock.client.blocking import Client
from penstock.client.errors import ClientError
from penstock.client.metadata import TopicPartition
from penstock.client.offsets import EARLIEST, LATEST, READ_COMMITTED, list_offsets
from penstock.client.producing import Delivered
from penstock.client.reading import Reader
from penstock.client.transactional import TransactionalProducer
from penstock.core.base.errors import ErrorCode, PenstockError
from penstock.core.records.record import Record
from penstock.core.schemas.records import NOOP, Key, key_bytes

REPLICAS_MAX: Final = 3
WAIT_MS: Final = 500
PAUSE_SECONDS: Final = 0.5
TRANSACTION_TIMEOUT_MS: Final = 10_000
_CONFIGS: Final = {"cleanup.policy": "compact", "min.insync.replicas": "1"}

Change = tuple[bytes, bytes | None]
log = logging.getLogger("penstock.registry")


def ensure_topic(client: Client, topic: str) -> None:
    """It has one partition, because there is one order; and one copy is no copy."""
    try:
        found = client.topic(topic)
    except ClientError as failure:
        if failure.code != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            raise
        replicas = min(REPLICAS_MAX, len(client.cluster.brokers))
        try:
            Admin(client).create_topic(
                topic, 1, replicas, _CONFIGS | {"min.insync.replicas": str(max(1, replicas - 1))}
            )
        except ClientError as refused:
            if refused.code != ErrorCode.TOPIC_ALREADY_EXISTS:
                raise
        found = client.retry(lambda: client.topic(topic, fresh=True))
    if len(found.partitions) != 1:
        raise ClientError(
            f"topic {topic} has {len(found.partitions)} partitions, and schemas need one order",
            hint="name another topic with --topic",
        )


class Follower:
    """A thread that reads the topic from its beginning and hands over what it finds."""

    def __init__(
        self,
        connect: Callable[[], Client],
        topic: str,
        take: Callable[[list[Record], int], None],
        begin: Callable[[], None],
        on_loaded: Callable[[], None],
    ) -> None:
        """`take` gets records and the offset after them; `begin` is told to forget everything; both come back when
        that is done."""
        self._connect = connect
        self._where = TopicPartition(topic, 0)
        self._take, self._begin, self._on_loaded = take, begin, on_loaded
        self._is_stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="follower", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._is_stopped.set()

    def _run(self) -> None:
        while not self._is_stopped.is_set():
            try:
                with self._connect() as client:
                    self._follow(client)
            except PenstockError as failure:
                # The topic was shortened or made anew, or nobody answers: from the beginning, when it can be.
                log.warning("reading %s: %s", self._where.topic, failure)
                self._is_stopped.wait(PAUSE_SECONDS)

    def _follow(self, client: Client) -> None:
        ensure_topic(client, self._where.topic)
        first = list_offsets(client, {self._where: EARLIEST})[self._where].offset
        end = list_offsets(client, {self._where: LATEST}, READ_COMMITTED)[self._where].offset
        self._begin()
        reader = Reader(client, {self._where: first}, isolation=READ_COMMITTED, wait_ms=WAIT_MS)
        is_loaded = False
        while not self._is_stopped.is_set():
            if not is_loaded and reader.positions[self._where] >= end:
                is_loaded = True
                self._on_loaded()
            for chunk in reader.poll():
                self._take(chunk.records, chunk.next_offset)


class Writer:
    """What the leader writes with. Not for two threads at once."""

    def __init__(self, client: Client, topic: str, transactional_id: str) -> None:
        self._client = client
        self._where = TopicPartition(topic, 0)
        self._last = -1
        self._producer = TransactionalProducer(
            client, transactional_id, timeout_ms=TRANSACTION_TIMEOUT_MS, on_delivery=self._note
        )

    def take_over(self) -> int:
        """Fence everybody else; gives the offset of the record from which on we know all there is."""
        ensure_topic(self._client, self._where.topic)
        return self.write([(key_bytes(Key(NOOP)), None)])

    def write(self, changes: Sequence[Change]) -> int:
        """All or nothing; gives the offset of the last one."""
        with self._producer.transaction():
            for key, value in changes:
                self._producer.send(self._where.topic, key, value, partition=self._where.partition)
        return self._last

    def close(self) -> None:
        self._client.close()

    def _note(self, delivered: Delivered) -> None:
        self._last = delivered.offset + delivered.records - 1
