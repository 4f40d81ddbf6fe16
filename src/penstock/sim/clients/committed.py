"""A read_committed reader: it is given what is decided, and passes over what an answer names as aborted, as Kafka's
consumer does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from penstock.core.base.errors import ErrorCode
from penstock.core.records.batch import iterate_headers
from penstock.core.records.checksum import is_valid
from penstock.core.records.control import decode_end_transaction
from penstock.core.records.record import iterate
from penstock.core.wire.api.fetch import PartitionData
from penstock.sim.clients.client import Client, Disconnected
from penstock.sim.clients.consumer import records_of
from penstock.sim.clients.near import NearFetcher
from penstock.sim.events import UNKNOWN, FetchAnswered, FetchAsked, FetchPart, Partition
from penstock.sim.scheduler import MS
from penstock.sim.script import Script, Sleep
from penstock.sim.transactions.events import Records, Seen, SeenDamaged

READ_COMMITTED: Final = 1
THINK_US_MAX: Final = 400 * MS
BEGINS_AGAIN: Final = 0.05


@dataclass(frozen=True, slots=True)
class CommittedPart(FetchPart):
    """`records` are those that count."""

    hidden: Records = ()
    stable_end: int = UNKNOWN


class CommittedFetcher(NearFetcher):
    """Reads only what is committed; what is aborted it tells of, and does not give."""

    def fetch(
        self, positions: Mapping[Partition, int], isolation: int = READ_COMMITTED
    ) -> Script[tuple[FetchPart, ...]]:
        return (yield from super().fetch(positions, READ_COMMITTED))

    def _tell_asked(self, asked: FetchAsked) -> None:
        """It is not judged as what reads all."""

    def _tell_answered(self, answered: FetchAnswered, positions: Mapping[Partition, int]) -> None:
        for part in answered.parts:
            assert isinstance(part, CommittedPart), "nothing else comes from below"
            if part.error == ErrorCode.NONE and part.stable_end != UNKNOWN:
                position = positions[part.partition]
                self._client.world.witness.see(
                    Seen(
                        answered.client,
                        part.partition,
                        position,
                        max(part.next_offset, position),
                        tuple(each for each in part.records if each[0] >= position),
                        tuple(each for each in part.hidden if each[0] >= position),
                        part.stable_end,
                    )
                )
            if part.damaged:
                self._client.world.witness.see(SeenDamaged(answered.client, part.partition, self._machine))

    def _part(self, partition: Partition, code: ErrorCode, data: PartitionData) -> CommittedPart:
        visible, hidden, next_offset, damaged = _sort(data)
        return CommittedPart(
            partition,
            code,
            data.high_watermark,
            visible,
            damaged,
            start_offset=data.log_start_offset,
            next_offset=next_offset,
            read_from=data.preferred_read_replica,
            hidden=hidden,
            stable_end=data.last_stable_offset,
        )


def _sort(data: PartitionData) -> tuple[Records, Records, int, bool]:
    """What counts, what is aborted, where the last good batch ends, and whether one that is damaged follows."""
    aborted = sorted((each.first_offset, each.producer_id) for each in data.aborted_transactions or ())
    visible, hidden, next_offset = list[tuple[int, bytes]](), list[tuple[int, bytes]](), UNKNOWN
    over, records = set[int](), records_of(data)
    for position, header in iterate_headers(records, partial_tail=True):
        if not is_valid(records, position, header):
            return tuple(visible), tuple(hidden), next_offset, True
        while aborted and aborted[0][0] < header.next_offset:
            over.add(aborted.pop(0)[1])
        next_offset = header.next_offset
        if header.is_control:
            ends = (decode_end_transaction(each.key, each.value) for each in iterate(records, position))
            over -= {header.producer_id for end in ends if end is not None and not end.committed}
            continue
        found = hidden if header.is_transactional and header.producer_id in over else visible
        found += [(each.offset, each.value or b"") for each in iterate(records, position)]
    return tuple(visible), tuple(hidden), next_offset, False


def read_committed(
    client: Client, fetcher: CommittedFetcher, partitions: tuple[Partition, ...], is_over: Callable[[], bool]
) -> Script[None]:
    """Read one partition or another, and now and then one of them from its start again."""
    positions = dict.fromkeys(partitions, 0)
    while not is_over():
        partition = client.chance.pick(partitions)
        if client.chance.happens(BEGINS_AGAIN):
            positions[partition] = 0
        try:
            for part in (yield from fetcher.fetch({partition: positions[partition]})):
                positions[part.partition] = part.goes_on_at or positions[part.partition]
        except Disconnected:
            yield from client.back_off()
        yield Sleep(client.chance.skewed(1 * MS, THINK_US_MAX))
    client.disconnect()
