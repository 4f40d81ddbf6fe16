"""Carries out the orders of one partition, through whatever its client library is told.

It knows two answers to trouble, as any application should: abort and begin again, or, where that is refused too, leave
the instance alone and make a new one. Sometimes it aborts for no reason, and sometimes another instance takes its place
in the middle of a transaction; the older one then tries to commit, and must not succeed. A slow one is sometimes still
busy when its transaction has timed out.
"""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from types import TracebackType
from typing import Self

from tests.chaos.transfers.bank import GROUP, LEDGER, ORDERS, Place
from tests.conformance.transactions.client import Library, Refused, Writer

ORDERS_PER_TRANSACTION_MAX = 20
ABORTS, SUCCESSIONS = 0.1, 0.04
TIMEOUT_MS = 20_000
SLOW_TIMEOUT_MS, SLOW, DAWDLE_S = 3_000, 0.02, 5.0
PAUSE_S = 0.1
"""Before what was refused is tried again."""
END_SECONDS_MAX = 60.0


class Teller:
    """One thread, one transactional id."""

    def __init__(
        self, name: str, library: Library, bootstrap: str, partition: int, chance: random.Random, is_slow: bool = False
    ) -> None:
        self.name = name
        self._is_slow = is_slow
        self.commits = self.aborts = self.successions = 0
        self.refusals: Counter[str] = Counter()
        self.complaints: list[str] = []
        self.longest_gap_s = 0.0
        self._library = library
        self._bootstrap = bootstrap
        self._place = Place(bootstrap, partition)
        self._chance = chance
        self._committed_at = time.monotonic()
        self._writer: Writer | None = None
        self._was_refused = False
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_over.set()
        self._thread.join(END_SECONDS_MAX)
        assert not self._thread.is_alive(), f"{self.name} hangs"

    def __str__(self) -> str:
        return (
            f"{self.name}: {self.commits} committed, {self.aborts} aborted, {self.successions} successions, "
            f"longest time without a commit {self.longest_gap_s:.1f} s, refused {sum(self.refusals.values())} times"
        )

    def _work(self) -> None:
        try:
            while not self._is_over.is_set():
                self._turn()
        except Exception as error:
            self.complaints.append(f"{self.name} died of {error!r}")
        finally:
            self._leave()
            self._place.close()

    def _turn(self) -> None:
        try:
            if self._writer is None:
                self._writer = self._arrive()
            self._carry_out(self._writer)
        except Refused as refused:
            self.refusals[str(refused)[:100]] += 1
            self._place.forget()
            self._recover()
            self._is_over.wait(PAUSE_S)

    def _arrive(self) -> Writer:
        return self._library.writer(self._bootstrap, self.name, SLOW_TIMEOUT_MS if self._is_slow else TIMEOUT_MS)

    def _carry_out(self, writer: Writer) -> None:
        orders, position = self._place.next(ORDERS_PER_TRANSACTION_MAX)
        if not orders:
            return
        writer.begin()
        for order in orders:
            for partition, entry in order.entries():
                writer.queue(LEDGER, partition, entry)
        writer.add_offset(GROUP, ORDERS, self._place.partition, position)
        if self._is_slow and self._chance.random() < SLOW:
            self._is_over.wait(DAWDLE_S)
        what = self._chance.random()
        if what < SUCCESSIONS:
            self._succeed(writer)
        elif what < SUCCESSIONS + ABORTS:
            writer.abort()
            self._place.forget()
            self.aborts += 1
        else:
            writer.commit()
            self._committed()
        self._was_refused = False

    def _committed(self) -> None:
        self.commits += 1
        now = time.monotonic()
        self.longest_gap_s = max(self.longest_gap_s, now - self._committed_at)
        self._committed_at = now

    def _succeed(self, older: Writer) -> None:
        self._place.forget()
        self._writer = self._arrive()
        self.successions += 1
        try:
            older.commit()
        except Refused:
            pass
        else:
            self.complaints.append(f"{self.name}: an instance committed that had a successor")
        older.close()

    def _recover(self) -> None:
        """Some libraries abort without a word what has been fenced; then the next thing is refused again."""
        was_refused, self._was_refused = self._was_refused, True
        try:
            if self._writer is not None and not was_refused:
                self._writer.abort()
                return
        except Refused:
            pass
        self._leave()

    def _leave(self) -> None:
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.close()
