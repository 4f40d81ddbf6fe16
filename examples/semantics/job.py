"""What the three programs have in common: read numbers, write each of them doubled, and die where they are told to."""

from __future__ import annotations

import argparse
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from penstock import Consumer, Record

BATCH = 10


class Job(NamedTuple):
    """One run of one of the programs."""

    bootstrap: str
    source: str
    target: str
    count: int
    """How many numbers there are; the run ends behind the last one."""
    die_at: int | None
    """The number whose batch this run does not survive."""

    @property
    def name(self) -> str:
        return f"{self.source}-to-{self.target}"

    def consumer(self) -> Consumer:
        # Whoever comes back under the same instance id takes over at once, without waiting for the session of the dead.
        return Consumer(
            self.bootstrap, group=self.name, topics=[self.source], config={"group.instance.id": f"{self.name}-1"}
        )

    def batches(self, consumer: Consumer) -> Iterator[list[Record]]:
        batch: list[Record] = []
        for record in consumer:
            batch.append(record)
            if len(batch) == BATCH:
                yield batch
                if self.is_last(batch):
                    return
                batch = []

    def is_last(self, batch: Sequence[Record]) -> bool:
        return batch[-1].offset == self.count - 1

    def perhaps_die(self, batch: Sequence[Record]) -> None:
        """As a power cut would: nothing is flushed, closed or said."""
        if self.die_at is not None and any(int(record.text) >= self.die_at for record in batch):
            os.kill(os.getpid(), signal.SIGKILL)


def doubled(record: Record) -> str:
    return str(2 * int(record.text))


def main(run: Callable[[Job], None]) -> None:
    parser = argparse.ArgumentParser(description=run.__doc__)
    for name in ("bootstrap", "source", "target"):
        parser.add_argument(name)
    parser.add_argument("count", type=int)
    parser.add_argument("--die-at", type=int)
    run(Job(**vars(parser.parse_args())))
