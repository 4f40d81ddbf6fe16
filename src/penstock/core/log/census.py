"""How many idempotent producers the logs of a node remember, and who is forgotten when they are too many.

Nobody has to ask for a producer id to use one, and what uses it once need not come back. Forgotten is as good as
expired: a producer that comes back is unknown and may go on anywhere, as in Kafka.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from penstock.core.log.log import Log

PER_PARTITION_MAX: Final = 10_000
TOTAL_MAX: Final = 200_000
SLACK: Final = 16
"""So many are forgotten at once that the oldest need not be looked for again soon: this part of what is allowed."""


class ProducerCensus:
    """Told of each log that has come to know one more."""

    __slots__ = ("_grown", "_logs", "_per_partition_max", "_total_max")

    def __init__(
        self,
        per_partition_max: int = PER_PARTITION_MAX,
        total_max: int = TOTAL_MAX,
        logs: Callable[[], Iterable[Log]] = tuple,
    ) -> None:
        self._per_partition_max = per_partition_max
        self._total_max = total_max
        self._logs = logs
        # Since all of them were last counted.
        self._grown = 0

    def replayed(self, log: Log) -> None:
        """A log was read again, and with it all who were forgotten since."""
        excess = len(log.producers) - self._per_partition_max
        if excess > 0:
            log.producers.forget_oldest(excess + self._per_partition_max // SLACK)

    def grew(self, log: Log) -> None:
        self.replayed(log)
        self._grown += 1
        if self._grown * SLACK >= self._total_max:
            self._count()

    def _count(self) -> None:
        """The most crowded partitions give first: a client that fills one does not cost others their producers."""
        self._grown = 0
        logs = sorted(self._logs(), key=lambda log: len(log.producers), reverse=True)
        excess = sum(len(log.producers) for log in logs) - self._total_max
        if excess <= 0:
            return
        level = _level([len(log.producers) for log in logs], excess + self._total_max // SLACK)
        for log in logs:
            if len(log.producers) > level:
                log.producers.forget_oldest(len(log.producers) - level)


def _level(counts: list[int], excess: int) -> int:
    """How many each may keep at most so that this many go; the counts are given largest first."""
    for number, next_count in enumerate([*counts[1:], 0], 1):
        saved = sum(counts[:number]) - number * next_count
        if saved >= excess:
            return next_count + (saved - excess) // number
    return 0
