"""A program under a transactional id, in one of its lives: introduces itself, writes in transactions, and ends them.

Both protocols. In the first one the coordinator is told of each partition and group before it is written to, and the
epoch stays; in the second one (KIP-890) brokers tell it themselves, and each end brings the next epoch. Between any two
steps, and while an answer is on its way, the program may die, or sleep for so long that others take it for dead.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from penstock.core.base.errors import ErrorCode
from penstock.core.records.build import build_batch
from penstock.core.wire.api.add_offsets_to_txn import AddOffsetsToTxnRequest, AddOffsetsToTxnResponse
from penstock.core.wire.api.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
)
from penstock.core.wire.api.end_txn import EndTxnRequest, EndTxnResponse
from penstock.core.wire.api.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from penstock.core.wire.api.produce import PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData
from penstock.core.wire.schema import Request, Response
from penstock.sim.clients.client import Client, Disconnected
from penstock.sim.clients.records import CODECS
from penstock.sim.clients.troubles import HURRIES, Crashed, Troubles
from penstock.sim.events import Partition
from penstock.sim.scheduler import EPOCH_MS, MS
from penstock.sim.script import Script
from penstock.sim.transactions.events import Ended, Ending, Introduced, Introducing, Opened, Taken

R = TypeVar("R", bound=Response)

TRANSACTION: Final = 1
SECOND_PROTOCOL: Final = 2
PRODUCE_TIMEOUT_MS: Final = 5_000
PRODUCE_VERSIONS: Final = {1: (9, 11), SECOND_PROTOCOL: (12, 13)}
ADD_PARTITIONS_FIRST: Final = 3
END_FIRST: Final = 4

COMES_AGAIN: Final = frozenset(
    {
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.CONCURRENT_TRANSACTIONS,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    }
)
FENCED: Final = frozenset(
    {ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.INVALID_PRODUCER_ID_MAPPING}
)
"""The last where a producer id has run out of epochs."""
ABORTABLE: Final = frozenset(
    {ErrorCode.TRANSACTION_ABORTABLE, ErrorCode.INVALID_TXN_STATE, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER}
)


class Fenced(Exception):
    """Somebody else goes on under this transactional id, or this program took too long."""


class Failed(Exception):
    """The transaction can only be aborted."""


@dataclass(frozen=True, slots=True)
class ProgramPlan:
    """Under which transactional id a program works, and how."""

    transactional_id: str
    protocol: int = SECOND_PROTOCOL
    timeout_ms: int = 6_000
    is_shared: bool = False
    hurries: float = HURRIES
    """How often it gives up what it has just sent."""


class Transactor:
    """One life of a program."""

    def __init__(
        self, client: Client, desk: Client, plan: ProgramPlan, topic_ids: Mapping[str, bytes], troubles: Troubles
    ) -> None:
        """`desk` goes to the transactional id's coordinator, `client` to leaders."""
        self._client = client
        self._desk = desk
        self._plan = plan
        self._topic_ids = topic_ids
        self._troubles = troubles
        self._found = False
        self.producer_id = self.epoch = -1
        self._sequences: dict[Partition, int] = {}
        self._added: set[Partition | str] = set()
        self.label = ""
        # Whether anything of this transaction may still be on its way: in the first protocol it could reach the next.
        self.is_unsure = False

    def hang_up(self) -> None:
        """This life is over."""
        self._client.disconnect()
        self._desk.disconnect()

    @property
    def bumps(self) -> bool:
        return self._plan.protocol >= SECOND_PROTOCOL

    @property
    def transactional_id(self) -> str:
        return self._plan.transactional_id

    def introduce(self) -> Script[None]:
        """Be the one who writes under this id; or, in the midst of a life, get the next epoch."""
        request = InitProducerIdRequest(
            transactional_id=self.transactional_id,
            transaction_timeout_ms=self._plan.timeout_ms,
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
        )
        told = Introducing(self.transactional_id), Introduced(self.transactional_id)
        reply = yield from self._insist(request, InitProducerIdResponse, lambda each: each.error_code, None, told)
        self._check(reply.error_code)
        self._become(reply.producer_id, reply.producer_epoch)

    def begin(self, label: str) -> None:
        """From now on everything belongs to a transaction."""
        self.label = label
        plan = self._plan
        self._client.world.witness.see(Opened(label, plan.transactional_id, plan.timeout_ms, plan.is_shared))

    def write(self, partition: Partition, batches: Sequence[tuple[bytes, ...]]) -> Script[None]:
        """Write batches, and see to it that they are acknowledged."""
        if not self.bumps:
            yield from self._add_partition(partition)
        left = [self._numbered(partition, values) for values in batches]
        while left:
            yield from self._troubles.step()
            try:
                left = yield from self._try(partition, left)
            except Disconnected:
                self.is_unsure = True
            if left:
                self._client.lose(partition)
                yield from self._client.back_off()

    def add_group(self, group: str) -> Script[None]:
        """In the first protocol a group's offsets are announced."""
        if self.bumps or group in self._added:
            return
        request = AddOffsetsToTxnRequest(
            transactional_id=self.transactional_id,
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            group_id=group,
        )
        reply = yield from self._insist(request, AddOffsetsToTxnResponse, lambda each: each.error_code)
        self._check(reply.error_code)
        self._added.add(group)

    def end(self, committed: bool) -> Script[None]:
        """Commit or abort; what became of it is not known to whoever is fenced meanwhile."""
        request = EndTxnRequest(
            transactional_id=self.transactional_id,
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            committed=committed,
        )
        witness = self._client.world.witness
        witness.see(Ending(self.label, committed))
        newest = None if self.bumps else END_FIRST
        reply = yield from self._insist(request, EndTxnResponse, lambda each: each.error_code, newest)
        is_nothing = not committed and not self.bumps and reply.error_code == ErrorCode.INVALID_TXN_STATE
        if reply.error_code == ErrorCode.INVALID_TXN_STATE and not is_nothing:
            # Its time was over, and somebody has ended it the other way.
            raise Fenced
        self._check(ErrorCode.NONE if is_nothing else reply.error_code)
        witness.see(Ended(self.label, committed))
        if self.bumps:
            self._become(reply.producer_id, reply.producer_epoch)
        elif self.is_unsure or is_nothing:
            yield from self.introduce()
        self._added.clear()

    # ---- inside

    def _become(self, producer_id: int, epoch: int) -> None:
        self.producer_id, self.epoch = producer_id, epoch
        self.is_unsure = False
        self._sequences.clear()
        self._added.clear()

    def _check(self, error_code: int) -> None:
        code = ErrorCode(error_code)
        if code in FENCED:
            raise Fenced
        if code in ABORTABLE:
            self.is_unsure = True
            raise Failed
        assert code is ErrorCode.NONE, f"{self._client.name} got {code!r} in {self.label}"

    def _add_partition(self, partition: Partition) -> Script[None]:
        if partition in self._added:
            return
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self.transactional_id,
            v3_and_below_producer_id=self.producer_id,
            v3_and_below_producer_epoch=self.epoch,
            v3_and_below_topics=[AddPartitionsToTxnTopic(name=partition.topic, partitions=[partition.number])],
        )

        def code_of(reply: AddPartitionsToTxnResponse) -> int:
            return reply.results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code

        reply = yield from self._insist(request, AddPartitionsToTxnResponse, code_of, ADD_PARTITIONS_FIRST)
        self._check(code_of(reply))
        self._added.add(partition)

    def _insist(
        self,
        request: Request,
        response: type[R],
        code_of: Callable[[R], int],
        newest: int | None = None,
        told: tuple[Any, Any] | None = None,
    ) -> Script[R]:
        """Ask the coordinator until it says something that is final. `told`: before each question, and after it."""
        desk, witness = self._desk, self._desk.world.witness
        while True:
            yield from self._troubles.step()
            try:
                if not self._found:
                    self._found = (yield from desk.find_coordinator(self.transactional_id, TRANSACTION)) == 0
                if self._found:
                    connection = yield from desk.connect_to_coordinator()
                    if told is not None:
                        witness.see(told[0])
                    answer = connection.ask(request, response, newest)
                    if self._troubles.strikes():
                        raise Crashed
                    reply: R = yield answer
                    if told is not None:
                        witness.see(told[1])
                    if code_of(reply) not in COMES_AGAIN and code_of(reply) not in desk.excuses:
                        return reply
                    self._found = code_of(reply) == ErrorCode.CONCURRENT_TRANSACTIONS
            except Disconnected:
                self._found, self.is_unsure = False, True
            yield from desk.back_off()

    # ---- batches

    def _numbered(self, partition: Partition, values: tuple[bytes, ...]) -> tuple[int, tuple[bytes, ...]]:
        sequence = self._sequences.get(partition, 0)
        self._sequences[partition] = sequence + len(values)
        return sequence, values

    def _try(
        self, partition: Partition, batches: list[tuple[int, tuple[bytes, ...]]]
    ) -> Script[list[tuple[int, tuple[bytes, ...]]]]:
        """Send batches, all at once or the first alone; gives what is to be sent again."""
        connection = yield from self._client.connect_to(partition)
        # Whom nobody knows may begin anywhere, as in Kafka; in the second protocol only at the beginning.
        count = len(batches) if self.bumps and self._client.chance.happens(0.5) else 1
        version = self._client.chance.pick(PRODUCE_VERSIONS[self._plan.protocol])
        answers = [
            connection.ask(self._request(partition, *each), ProduceResponse, version) for each in batches[:count]
        ]
        if self._troubles.strikes():
            raise Crashed
        if self._troubles.hurries():
            self.is_unsure = True
            raise Failed
        left = list(batches)
        for each, answer in zip(batches, answers, strict=False):
            reply: ProduceResponse = yield answer
            result = reply.responses[0].partition_responses[0]
            if left and left[0] is each and self._is_taken(result.error_code):
                self._client.world.witness.see(Taken(self.label, partition, each[1], result.base_offset))
                left.pop(0)
        return left

    def _is_taken(self, error_code: int) -> bool:
        """Whether a batch is there; whoever may send it again hears nothing worse."""
        code = ErrorCode(error_code)
        if code in COMES_AGAIN or code in self._client.excuses:
            self.is_unsure |= code is ErrorCode.REQUEST_TIMED_OUT
            return False
        self._check(code)
        return True

    def _request(self, partition: Partition, sequence: int, values: tuple[bytes, ...]) -> ProduceRequest:
        now_ms = EPOCH_MS + self._client.world.scheduler.now_us // MS
        records = build_batch(
            [(None, value, (), now_ms) for value in values],
            codec=self._client.chance.pick(CODECS),
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            base_sequence=sequence,
            transactional=True,
        )
        data = TopicProduceData(
            name=partition.topic,
            topic_id=self._topic_ids[partition.topic],
            partition_data=[PartitionProduceData(index=partition.number, records=records)],
        )
        return ProduceRequest(
            transactional_id=self.transactional_id, acks=-1, timeout_ms=PRODUCE_TIMEOUT_MS, topic_data=[data]
        )
