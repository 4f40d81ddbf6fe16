"""A program that fills the first topic of a chain: in each transaction some values, in one partition or several."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from penstock.sim.clients.client import Client, Disconnected
from penstock.sim.clients.transactor import Failed, Fenced, Transactor
from penstock.sim.clients.troubles import Crashed
from penstock.sim.events import Partition
from penstock.sim.scheduler import MS, SECOND
from penstock.sim.script import Script, Sleep
from penstock.sim.transactions.values import make_value

THINK_US_MAX: Final = 1_500 * MS
AWAY_US_MAX: Final = 8 * SECOND
BATCHES_MAX: Final = 3
VALUES_MAX: Final = 3
ABORTS: Final = 0.2
DIES_FOR_GOOD: Final = 0.1
"""Its last transaction is for the coordinator to end; another program goes on, under another transactional id."""


class ChainSource:
    """Writes until it is over, through as many lives as that takes."""

    def __init__(
        self,
        client: Client,
        live: Callable[[int], Transactor],
        partitions: Sequence[Partition],
        is_over: Callable[[], bool],
    ) -> None:
        """`live` begins a life of the how-many-th program."""
        self._client = client
        self._live = live
        self._partitions = partitions
        self._is_over = is_over
        self._transactions = 0
        self._values = 0

    def script(self) -> Script[None]:
        programs = 0
        while not self._is_over():
            transactor = self._live(programs)
            try:
                yield from transactor.introduce()
                while not self._is_over():
                    yield from self._transact(transactor)
                    yield Sleep(self._client.chance.skewed(0, THINK_US_MAX))
            except Crashed:
                transactor.hang_up()
                programs += self._client.chance.happens(DIES_FOR_GOOD)
                yield Sleep(self._client.chance.between(1 * MS, AWAY_US_MAX))
            except (Fenced, Disconnected):
                yield from self._client.back_off()
            transactor.hang_up()

    def _transact(self, transactor: Transactor) -> Script[None]:
        self._transactions += 1
        transactor.begin(f"{self._client.name}.{self._transactions}")
        chance = self._client.chance
        try:
            for partition in {chance.pick(self._partitions): None for _ in range(2)}:
                batches = [self._make(transactor.label) for _ in range(chance.between(1, BATCHES_MAX))]
                yield from transactor.write(partition, batches)
                yield Sleep(chance.skewed(0, THINK_US_MAX))
            yield from transactor.end(committed=not chance.happens(ABORTS))
        except Failed:
            yield from transactor.end(committed=False)

    def _make(self, label: str) -> tuple[bytes, ...]:
        chance, first = self._client.chance, self._values
        self._values += chance.between(1, VALUES_MAX)
        return tuple(
            make_value(f"{self._client.name}#{number}", label, chance) for number in range(first, self._values)
        )
