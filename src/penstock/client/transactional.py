"""Producing in transactions: what is sent between `begin` and `commit` counts as a whole, or not at all.

Both protocols, by what the cluster has agreed on. In the first one the coordinator is told of each partition before it
is written to, and the producer keeps its epoch. In the second one (KIP-890) partitions tell the coordinator themselves,
and each end of a transaction gives the producer its next epoch, so that nothing late can slip into the next one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Final

from penstock.client.admin import Admin
from penstock.client.blocking import TRANSACTION, Client
from penstock.client.errors import ClientError, check
from penstock.client.metadata import TopicPartition
from penstock.client.offsets import by_topic
from penstock.client.producing import BATCH_BYTES, Delivered, Producer
from penstock.core.base.errors import ErrorCode
from penstock.core.records.batch import NO_PRODUCER_ID
from penstock.core.records.codecs import Codec
from penstock.core.wire.api.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
)
from penstock.core.wire.api.end_txn import EndTxnRequest, EndTxnResponse
from penstock.core.wire.api.init_producer_id import InitProducerIdRequest, InitProducerIdResponse

TIMEOUT_MS: Final = 60_000
"""How long a transaction may stay open before its coordinator aborts it."""
SECOND_PROTOCOL: Final = 2
"""The level of `transaction.version` from which on partitions are added by their brokers."""
# The last versions of the first protocol. Later ones of AddPartitionsToTxn come from brokers.
PRODUCE_FIRST: Final = 11
ADD_PARTITIONS_FIRST: Final = 3
END_FIRST: Final = 4
FENCED: Final = frozenset(
    {ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.INVALID_PRODUCER_ID_MAPPING}
)


class TransactionalProducer(Producer):
    """Sends in transactions under an id of its own. Whoever begins later with the same id ends this one."""

    def __init__(
        self,
        client: Client,
        transactional_id: str,
        *,
        timeout_ms: int = TIMEOUT_MS,
        codec: Codec = Codec.NONE,
        batch_bytes: int = BATCH_BYTES,
        delivery_seconds_max: float | None = None,
        on_delivery: Callable[[Delivered], None] | None = None,
    ) -> None:
        super().__init__(
            client,
            codec=codec,
            batch_bytes=batch_bytes,
            delivery_seconds_max=delivery_seconds_max,
            on_delivery=on_delivery,
        )
        self._id = self._transactional_id = transactional_id
        self._timeout_ms = timeout_ms
        self._second_protocol = False
        # Whether the coordinator knows of an open transaction, and whether this producer may go on in it.
        self._is_open = self._is_failed = self._is_fenced = False
        self._added: set[TopicPartition] = set()

    def adopt(self, producer_id: int, epoch: int) -> None:
        """Begin as one who has been introduced already, by somebody else of the same transactional id."""
        self._agree()
        self._become(producer_id, epoch)
        self._is_failed = False

    def begin(self) -> None:
        """Begin a transaction. The first time, it ends what an earlier producer of this id has left open."""
        if self._is_fenced:
            check(ErrorCode.PRODUCER_FENCED, f"transactional id {self._id}")
        if self._producer_id == NO_PRODUCER_ID:
            self._client.retry(self._introduce)
        self._is_open = self._is_failed = False

    def commit(self) -> None:
        """Send what is left, and let all of it count; if that fails, it is to be aborted."""
        self.flush()
        if self._is_open:
            self._client.retry(lambda: self._end(committed=True))

    def abort(self) -> None:
        """Let nothing of it count."""
        self._builders.clear()
        self._pending_bytes = 0
        if self._round is not None:
            # What is still on its way should come before the abort, not behind it.
            with suppress(ClientError):
                self._collect(self._round)
            self._round = None
        if self._is_open and not self._is_fenced:
            self._client.retry(self._abort)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """What is sent within it is committed at its end, and aborted by whatever leaves it before."""
        self.begin()
        try:
            yield
            self.commit()
        except BaseException as reason:
            if not isinstance(reason, Exception):
                # Ctrl-c may have come in the midst of an answer.
                self._client.close()
            # What ended it is what its caller must hear of; what is not aborted now is so by its time-out.
            with suppress(ClientError):
                self.abort()
            raise

    def _introduce(self) -> None:
        """Get a producer id and epoch, or, after a transaction that failed, the next epoch."""
        request = InitProducerIdRequest(
            transactional_id=self._id,
            transaction_timeout_ms=self._timeout_ms,
            producer_id=self._producer_id,
            producer_epoch=self._producer_epoch,
        )
        answer = self._client.ask(request, InitProducerIdResponse, node=self._coordinator())
        self._check(answer.error_code)
        self._agree()
        self._become(answer.producer_id, answer.producer_epoch)

    def _agree(self) -> None:
        """Which protocol the cluster speaks."""
        level = Admin(self._client).features().get("transaction.version", 0)
        self._second_protocol = level >= SECOND_PROTOCOL
        self._newest_version = None if self._second_protocol else PRODUCE_FIRST

    def _become(self, producer_id: int, epoch: int) -> None:
        """Sequences count within an epoch."""
        if (producer_id, epoch) != (self._producer_id, self._producer_epoch):
            self._sequences.clear()
        self._producer_id, self._producer_epoch = producer_id, epoch
        self._is_open = False
        self._added.clear()

    def _admit(self, places: Iterable[TopicPartition]) -> None:
        if self._is_failed:
            raise ClientError(f"the transaction of {self._id} has failed, and can only be aborted")
        new = [where for where in places if where not in self._added]
        self._is_open = True
        if self._second_protocol or not new:
            return
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self._id,
            v3_and_below_producer_id=self._producer_id,
            v3_and_below_producer_epoch=self._producer_epoch,
            v3_and_below_topics=[
                AddPartitionsToTxnTopic(name=topic, partitions=numbers) for topic, numbers in by_topic(new).items()
            ],
        )
        node = self._coordinator()
        answer = self._client.ask(request, AddPartitionsToTxnResponse, node=node, newest_version=ADD_PARTITIONS_FIRST)
        for topic in answer.results_by_topic_v3_and_below:
            for each in topic.results_by_partition:
                self._check(each.partition_error_code, f"adding {topic.name}-{each.partition_index} to ")
        self._added.update(new)

    def _give_up(self) -> None:
        """A batch that was not acknowledged may be there or not: only an abort says which."""
        self._is_failed = True

    def _end(self, *, committed: bool) -> None:
        request = EndTxnRequest(
            transactional_id=self._id,
            producer_id=self._producer_id,
            producer_epoch=self._producer_epoch,
            committed=committed,
        )
        newest = None if self._second_protocol else END_FIRST
        answer = self._client.ask(request, EndTxnResponse, node=self._coordinator(), newest_version=newest)
        self._check(answer.error_code)
        if self._second_protocol:
            self._become(answer.producer_id, answer.producer_epoch)
        self._is_open = False
        self._added.clear()

    def _abort(self) -> None:
        try:
            self._end(committed=False)
        except ClientError as failure:
            # The coordinator has heard nothing of it.
            if failure.code != ErrorCode.INVALID_TXN_STATE:
                raise
            self._is_open = False
        if not self._second_protocol:
            # What was sent and not acknowledged may still come: a new epoch refuses it.
            self._client.retry(self._introduce)

    def _coordinator(self) -> int:
        return self._client.coordinator(self._id, TRANSACTION)

    def _check(self, code: int, doing: str = "") -> None:
        self._is_fenced |= code in FENCED
        check(code, f"{doing}the transaction of {self._id}" if doing else f"transactional id {self._id}")
