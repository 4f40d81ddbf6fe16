"""Faults: how often each happens in a run, and what it does.

A plan is a handful of numbers. The injector spreads them over the time that the run gives to trouble, and ends all
trouble when that time is over, because what must hold then (everyone makes progress) can only be seen then.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Protocol

from penstock.sim.chance import Chance
from penstock.sim.disk import Disk
from penstock.sim.network import Link, Network
from penstock.sim.scheduler import MS, SECOND, Scheduler

DOWN_US_MAX = 2 * SECOND
WINDOW_US_MAX = 4 * SECOND
STALL_US_MAX = 10 * SECOND
FREE_BYTES_MAX = 4_000
CUT_BYTES_MAX = 2_000
SKEW_MS_MAX = 30 * 60_000
"""Less than the hour by which Kafka lets a record's time be ahead of its broker's."""


@dataclass(frozen=True, slots=True)
class FaultPlan:
    """How many of each."""

    crashes: int = 0
    power_losses: int = 0
    shutdowns: int = 0
    slow_disks: int = 0
    full_disks: int = 0
    failed_syncs: int = 0
    cuts: int = 0
    half_opens: int = 0
    stalls: int = 0
    clock_jumps: int = 0


PEACE = FaultPlan()
MOST = FaultPlan(
    crashes=4,
    power_losses=3,
    shutdowns=2,
    slow_disks=2,
    full_disks=2,
    failed_syncs=1,
    cuts=6,
    half_opens=2,
    stalls=2,
    clock_jumps=3,
)


def draw_faults(chance: Chance) -> FaultPlan:
    """A plan in which each kind of fault may be missing: some bugs show only when nothing else disturbs."""
    drawn = {
        each.name: chance.between(0, getattr(MOST, each.name)) if chance.happens(0.6) else 0
        for each in fields(FaultPlan)
    }
    return FaultPlan(**drawn)


class Victim(Protocol):
    """What faults act on."""

    @property
    def scheduler(self) -> Scheduler: ...
    @property
    def network(self) -> Network: ...
    @property
    def disk(self) -> Disk: ...
    def crash(self, down_us: int) -> None: ...
    def power_loss(self, down_us: int) -> None: ...
    def shut_down(self) -> None: ...
    def set_clock(self, skew_ms: int) -> None: ...


class Injector:
    """Lets a plan happen to a world."""

    def __init__(self, victim: Victim, chance: Chance) -> None:
        self._victim = victim
        self._chance = chance
        self._over = False
        self._sick = False

    def schedule(self, plan: FaultPlan, from_us: int, until_us: int) -> None:
        """Spread the faults over a time."""
        kinds: tuple[tuple[int, Callable[[], None]], ...] = (
            (plan.crashes, lambda: self._victim.crash(self._down_us())),
            (plan.power_losses, lambda: self._victim.power_loss(self._down_us())),
            (plan.shutdowns, self._victim.shut_down),
            (plan.slow_disks, self._slow_disk),
            (plan.full_disks, self._full_disk),
            (plan.failed_syncs, self._failed_sync),
            (plan.cuts, self._cut),
            (plan.half_opens, self._half_open),
            (plan.stalls, self._stall),
            (plan.clock_jumps, self._jump),
        )
        for count, fault in kinds:
            for _ in range(count):
                self._victim.scheduler.at(self._chance.between(from_us, until_us), self._unless_over(fault))

    def end(self) -> None:
        """No more trouble from now on."""
        self._over = True
        self._end_slow_disk()
        self._end_full_disk()
        self._victim.disk.volume.syncs_to_fail = 0
        self._victim.set_clock(0)
        self._replace_disk()

    def _unless_over(self, action: Callable[[], None]) -> Callable[[], None]:
        return lambda: None if self._over else action()

    def _later(self, delay_us_max: int, action: Callable[[], None]) -> None:
        self._victim.scheduler.after(self._chance.between(1, delay_us_max), self._unless_over(action))

    def _down_us(self) -> int:
        return self._chance.skewed(1 * MS, DOWN_US_MAX)

    # ---- the disk

    def _slow_disk(self) -> None:
        self._victim.disk.slow = True
        self._later(WINDOW_US_MAX, self._end_slow_disk)

    def _end_slow_disk(self) -> None:
        self._victim.disk.slow = False

    def _full_disk(self) -> None:
        self._victim.disk.volume.free_bytes = self._chance.between(0, FREE_BYTES_MAX)
        self._later(WINDOW_US_MAX, self._end_full_disk)

    def _end_full_disk(self) -> None:
        self._victim.disk.volume.free_bytes = None

    def _failed_sync(self) -> None:
        """A disk that fails to sync is looked after: the machine goes down for it, and the page cache too."""
        self._sick = True
        self._victim.disk.volume.syncs_to_fail = 1
        self._later(WINDOW_US_MAX, self._replace_disk)

    def _replace_disk(self) -> None:
        if self._sick:
            self._sick = False
            self._victim.disk.volume.syncs_to_fail = 0
            self._victim.power_loss(self._down_us())

    # ---- the clock

    def _jump(self) -> None:
        """Somebody sets the clock: by seconds or by many minutes, forward or back."""
        skew_ms = self._chance.skewed(0, SKEW_MS_MAX)
        self._victim.set_clock(skew_ms if self._chance.happens(0.5) else -skew_ms)

    # ---- connections

    def _any_link(self) -> Link | None:
        links = self._victim.network.open_links()
        return self._chance.pick(links) if links else None

    def _cut(self) -> None:
        if link := self._any_link():
            link.cut_after(self._chance.skewed(1, CUT_BYTES_MAX))

    def _half_open(self) -> None:
        if link := self._any_link():
            link.lose_client_side() if self._chance.happens(0.5) else link.lose_server_side()

    def _stall(self) -> None:
        if link := self._any_link():
            link.stall(self._chance.between(1, STALL_US_MAX))
