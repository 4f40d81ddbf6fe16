"""A term: the time in which this node leads the metadata log without a break, and how it writes to it.

Everything that a controller knows beside the log belongs to a term and ends with it, so that the next one begins with
nothing but the log.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from penstock.core.base.errors import ErrorCode
from penstock.core.base.ports import Pause, Steps
from penstock.core.base.settings import BrokerSettings
from penstock.core.metadata.image import Image
from penstock.core.metadata.sweep import Sweep
from penstock.core.node.controller.ports import ControllerContext, Host, Ledger, OnCommitted
from penstock.core.node.deadlines import Deadline
from penstock.core.wire.schema import StoredRecord


class Term:
    """The controller's way to its log. Once the term is over, whoever still waits hears NOT_CONTROLLER."""

    def __init__(self, host: Host, ledger: Ledger, around: ControllerContext) -> None:
        self.host = host
        self.around = around
        self._ledger = ledger
        self._timers: dict[str, Deadline] = {}
        self.is_over = False

    @property
    def image(self) -> Image:
        return self._ledger.uncommitted_image

    @property
    def settings(self) -> BrokerSettings:
        return self.host.settings

    def end(self) -> None:
        self.is_over = True
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()

    @property
    def steady_ms(self) -> int:
        """Time that passes evenly, whatever the clock on the wall is set to."""
        return self.host.now_us // 1000

    def has_timer(self, name: str) -> bool:
        return name in self._timers

    def call_in(self, name: str, delay_ms: int, call: Callable[[], None]) -> None:
        """Call after some time, if the term lasts; one call of each name is under way."""
        assert name not in self._timers, f"{name} is to be called already"

        def due() -> None:
            del self._timers[name]
            call()

        self._timers[name] = self.host.deadlines.at(self.host.now_ms + delay_ms, due)

    def commit(self, records: Sequence[StoredRecord], done: OnCommitted) -> None:
        """Call once the records are committed. Where there are none, what was decided rests on what others have
        submitted, and must not be heard before that is sure."""
        if self.is_over:
            done(ErrorCode.NOT_CONTROLLER)
        elif records:
            self._ledger.submit(records, self.host.now_ms, done)
        elif self._ledger.is_settled:
            done(ErrorCode.NONE)
        else:
            self._ledger.when_settled(done)

    def sweep(self, sweeps: Iterable[Sweep], done: OnCommitted = lambda code: None) -> None:
        """Do all that the sweeps say, one after the other; `done` once it is committed. What fits into a turn is done
        in this one."""
        wanted = list(sweeps)
        if wanted:
            self.host.tasks.run(self._sweep(wanted, done))
        else:
            self.commit((), done)

    def _sweep(self, sweeps: list[Sweep], done: OnCommitted) -> Steps[None]:
        failures: list[ErrorCode] = []

        def written(code: ErrorCode) -> None:
            if code is not ErrorCode.NONE:
                failures.append(code)

        for sweep in sweeps:
            while not sweep.is_done:
                if self.is_over:
                    done(ErrorCode.NOT_CONTROLLER)
                    return
                if records := sweep.step(self.image):
                    self._ledger.submit(records, self.host.now_ms, written)
                if not sweep.is_done:
                    yield Pause()
        self.commit((), lambda code: done(failures[0] if failures else code))
