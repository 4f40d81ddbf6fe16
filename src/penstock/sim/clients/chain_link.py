"""Programs between two topics of a chain: what they read of one they write to the next, and commit in the same
transaction how far they have read.

Some are members of a group, each under a transactional id of its own (KIP-447): whoever is not in the generation any
more cannot commit. Others read what they were told to and go under one transactional id, of whom only the last to
introduce itself may go on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from penstock.core.base.errors import ErrorCode
from penstock.core.wire.api.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
)
from penstock.core.wire.api.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
)
from penstock.sim.clients.client import Client, Disconnected
from penstock.sim.clients.committed import CommittedFetcher
from penstock.sim.clients.member import RETRIABLE, GroupPlan, Member, Rejoin
from penstock.sim.clients.offsets import Membership, Offsets
from penstock.sim.clients.protocol import NO_CLAIM
from penstock.sim.clients.transactor import FENCED, Failed, Fenced, Transactor
from penstock.sim.clients.troubles import Crashed, Troubles
from penstock.sim.events import FetchPart, Partition
from penstock.sim.scheduler import MS, SECOND
from penstock.sim.script import Script, Sleep
from penstock.sim.transactions.events import Brought, StableAsked, StableTold
from penstock.sim.transactions.values import make_value, root_of

ABORTS: Final = 0.1
INPUTS_MAX: Final = 6
ROUNDS_MAX: Final = 2
AWAY_US_MAX: Final = 8 * SECOND
LEAVES: Final = 0.01
OFFSETS_FIRST: Final = 4
"""The last version of TxnOffsetCommit in the first protocol."""
COMES_AGAIN: Final = frozenset(
    {
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.CONCURRENT_TRANSACTIONS,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.NETWORK_EXCEPTION,
    }
)
OUT_OF_GENERATION: Final = frozenset(
    {
        ErrorCode.ILLEGAL_GENERATION,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.FENCED_INSTANCE_ID,
        ErrorCode.REBALANCE_IN_PROGRESS,
        ErrorCode.TRANSACTION_ABORTABLE,
        ErrorCode.INVALID_TXN_STATE,
    }
)
NOBODY: Final = Membership("", "", -1)


class Link:
    """How one program gets from positions in its inputs to the next ones."""

    def __init__(
        self, client: Client, fetcher: CommittedFetcher, group: str, outputs: tuple[Partition, ...], troubles: Troubles
    ) -> None:
        self._client = client
        self._fetcher = fetcher
        self._group = group
        self._outputs = outputs
        self._troubles = troubles
        self._transactions = 0

    def find_start(self, partition: Partition, topic_id: bytes) -> Script[int]:
        """Where the group goes on, once nothing is open that might move that."""
        topic = OffsetFetchRequestTopics(name=partition.topic, topic_id=topic_id, partition_indexes=[partition.number])
        group = OffsetFetchRequestGroup(group_id=self._group, topics=[topic])
        request = OffsetFetchRequest(groups=[group], require_stable=True)
        witness = self._client.world.witness
        while True:
            yield from self._troubles.step()
            yield from self._client.connect_to_coordinator()
            witness.see(StableAsked(self._client.name, self._group, partition))
            reply = yield from self._client.call_coordinator(request, OffsetFetchResponse)
            answer = reply.groups[0]
            code = ErrorCode(answer.error_code or answer.topics[0].partitions[0].error_code)
            if code is ErrorCode.NONE:
                found = answer.topics[0].partitions[0]
                told = StableTold(
                    self._client.name, self._group, partition, found.committed_offset, found.metadata or ""
                )
                witness.see(told)
                self._client.learn_epoch(partition, found.committed_leader_epoch)
                return max(found.committed_offset, 0)
            is_known = code in RETRIABLE or code in self._client.excuses
            assert is_known or code is ErrorCode.UNSTABLE_OFFSET_COMMIT, f"{self._client.name} got {code!r}"
            yield from self._client.back_off()
            if code is not ErrorCode.UNSTABLE_OFFSET_COMMIT:
                raise Rejoin

    def transact(
        self, transactor: Transactor, positions: dict[Partition, int], who: Membership, beat: Callable[[], Script[None]]
    ) -> Script[None]:
        """Read some, write what comes of it, say how far it was read, and let that count, or not. Positions move with
        what counts."""
        taken: dict[Partition, int] = {}
        self._transactions += 1
        label = f"{self._client.name}.{self._transactions}"
        try:
            for _ in range(self._client.chance.between(1, ROUNDS_MAX)):
                yield from beat()
                here = {partition: taken.get(partition, at) for partition, at in positions.items()}
                parts = yield from self._fetcher.fetch(self._client.fetchable(here))
                for part in parts:
                    yield from self._take(transactor, label, part, taken, positions)
            if transactor.label != label:
                return
            committed = not self._client.chance.happens(ABORTS)
            for partition, next_offset in taken.items():
                yield from self._bring(transactor, who, partition, positions[partition], next_offset)
            yield from transactor.end(committed)
        except (Failed, Disconnected, Rejoin) as reason:
            if transactor.label == label:
                yield from transactor.end(committed=False)
            if isinstance(reason, Failed) and who is not NOBODY:
                raise Rejoin from None
            if not isinstance(reason, Failed):
                raise
        else:
            positions.update(taken if committed else {})

    def _take(
        self,
        transactor: Transactor,
        label: str,
        part: FetchPart,
        taken: dict[Partition, int],
        positions: dict[Partition, int],
    ) -> Script[None]:
        partition = part.partition
        position = taken.get(partition, positions[partition])
        inputs = [each for each in part.records if each[0] >= position]
        if part.goes_on_at is None or not inputs:
            if partition not in taken:
                positions[partition] = part.goes_on_at or position
            return
        chosen = inputs[: self._client.chance.between(1, INPUTS_MAX)]
        if transactor.label != label:
            transactor.begin(label)
        chance, shares = self._client.chance, dict[Partition, list[bytes]]()
        for _, value in chosen:
            output = make_value(root_of(value), label, chance)
            shares.setdefault(chance.pick(self._outputs), []).append(output)
        for output_partition, values in shares.items():
            yield from transactor.write(
                output_partition, [tuple(values[:2]), tuple(values[2:])] if values[2:] else [tuple(values)]
            )
        taken[partition] = part.goes_on_at if chosen == inputs else chosen[-1][0] + 1

    def _bring(
        self, transactor: Transactor, who: Membership, partition: Partition, offset: int, next_offset: int
    ) -> Script[None]:
        """The group's offset, as a part of the transaction."""
        yield from transactor.add_group(self._group)
        request = TxnOffsetCommitRequest(
            transactional_id=transactor.transactional_id,
            group_id=self._group,
            producer_id=transactor.producer_id,
            producer_epoch=transactor.epoch,
            generation_id=who.generation,
            member_id=who.member,
            group_instance_id=who.instance,
            topics=[
                TxnOffsetCommitRequestTopic(
                    name=partition.topic,
                    partitions=[
                        TxnOffsetCommitRequestPartition(
                            partition_index=partition.number,
                            committed_offset=next_offset,
                            committed_metadata=transactor.label,
                        )
                    ],
                )
            ],
        )
        code = yield from self._insist(transactor, request)
        if code in FENCED:
            raise Fenced
        if code in OUT_OF_GENERATION:
            raise Failed
        assert code is ErrorCode.NONE, f"{self._client.name} got {code!r}"
        self._client.world.witness.see(Brought(transactor.label, self._group, partition, offset, next_offset))

    def _insist(self, transactor: Transactor, request: TxnOffsetCommitRequest) -> Script[ErrorCode]:
        client, newest = self._client, None if transactor.bumps else OFFSETS_FIRST
        while True:
            yield from self._troubles.step()
            try:
                connection = yield from client.connect_to_coordinator()
                answer = connection.ask(request, TxnOffsetCommitResponse, newest)
                if self._troubles.strikes():
                    raise Crashed
                reply: TxnOffsetCommitResponse = yield answer
                code = ErrorCode(reply.topics[0].partitions[0].error_code)
                if code not in COMES_AGAIN and code not in client.excuses:
                    return code
            except Disconnected:
                transactor.is_unsure = True
            yield from client.back_off()
            try:
                yield from client.find_coordinator(self._group)
            except Disconnected:
                yield from client.back_off()


class LinkMember(Member):
    """A program that is a member of a group."""

    def __init__(
        self,
        client: Client,
        fetcher: CommittedFetcher,
        offsets: Offsets,
        plan: GroupPlan,
        is_done: Callable[[Mapping[Partition, int]], bool],
        link: Link,
        live: Callable[[], Transactor],
        topic_ids: Mapping[str, bytes],
    ) -> None:
        super().__init__(client, fetcher, offsets, plan, is_done)
        self._link = link
        self._live = live
        self._topic_ids = topic_ids
        self._transactor: Transactor | None = None

    def script(self) -> Script[None]:
        """Through as many lives as it takes."""
        while True:
            try:
                yield from super().script()
                return
            except Crashed:
                self._member_id, self._claim = "", NO_CLAIM
                self._hang_up()
                yield Sleep(self._client.chance.between(1 * MS, AWAY_US_MAX))
            except Fenced:
                self._hang_up()
                yield from self._client.back_off()

    def _hang_up(self) -> None:
        if self._transactor is not None:
            self._transactor.hang_up()
            self._transactor = None

    def _work(self, partitions: tuple[Partition, ...]) -> Script[bool]:
        if self._transactor is None:
            self._transactor = self._live()
            yield from self._transactor.introduce()
        positions: dict[Partition, int] = {}
        for partition in partitions:
            positions[partition] = yield from self._link.find_start(partition, self._topic_ids[partition.topic])
        who = Membership(self._plan.group, self._member_id, self._generation, self._instance)
        while not self._is_done(positions):
            yield from self._beat()
            if positions:
                yield from self._link.transact(self._transactor, positions, who, self._beat)
            else:
                yield from self._client.back_off()
            if self._client.chance.happens(LEAVES):
                yield from self._go_away()
        return True


class LinkTwin:
    """A program that goes under a transactional id that may be another one's as well."""

    def __init__(
        self,
        client: Client,
        plan: GroupPlan,
        is_done: Callable[[Mapping[Partition, int]], bool],
        link: Link,
        live: Callable[[], Transactor],
        topic_ids: Mapping[str, bytes],
    ) -> None:
        self._client = client
        self._plan = plan
        self._is_done = is_done
        self._link = link
        self._live = live
        self._topic_ids = topic_ids

    def script(self) -> Script[None]:
        done = False
        while not done:
            transactor = self._live()
            try:
                done = yield from self._work(transactor)
            except (Crashed, Fenced):
                transactor.hang_up()
                yield Sleep(self._client.chance.between(1 * MS, AWAY_US_MAX))
            except (Rejoin, Disconnected):
                yield from self._client.back_off()
            transactor.hang_up()

    def _work(self, transactor: Transactor) -> Script[bool]:
        if (yield from self._client.find_coordinator(self._plan.group)) != ErrorCode.NONE:
            raise Rejoin
        yield from transactor.introduce()
        positions: dict[Partition, int] = {}
        for partition in self._plan.partitions:
            positions[partition] = yield from self._link.find_start(partition, self._topic_ids[partition.topic])
        while not self._is_done(positions):
            yield from self._link.transact(transactor, positions, NOBODY, self._rest)
        return True

    def _rest(self) -> Script[None]:
        """There is no group that would want to hear of it."""
        yield Sleep(self._client.chance.skewed(1 * MS, SECOND))
