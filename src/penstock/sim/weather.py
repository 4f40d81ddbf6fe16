"""Weather: lets a storm happen to a world, and ends it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Final, Protocol

from penstock.sim.chance import Chance
from penstock.sim.events import Rotted, Witness
from penstock.sim.network import Link, Network
from penstock.sim.rot import ROTTING, rot
from penstock.sim.scheduler import MS, Scheduler
from penstock.sim.site import Site
from penstock.sim.storm import Fault
from penstock.sim.trace import Trace
from penstock.sim.world import DATA

NEW_DISK_US: Final = 300 * MS

End = Callable[[], None]


class Region(Protocol):
    """What a storm passes over."""

    @property
    def scheduler(self) -> Scheduler: ...
    @property
    def network(self) -> Network: ...
    @property
    def witness(self) -> Witness: ...
    @property
    def trace(self) -> Trace: ...
    @property
    def sites(self) -> Mapping[int, Site]: ...


class Weather:
    """Begins each fault at its time, and ends it after its time or when everything ends."""

    def __init__(self, region: Region, chance: Chance) -> None:
        self._region = region
        self._chance = chance
        self._is_over = False
        self._ends: dict[Fault, End] = {}

    def schedule(self, faults: Iterable[Fault]) -> None:
        """Let faults happen, counted from now."""
        scheduler = self._region.scheduler
        for fault in faults:
            scheduler.after(fault.at_us, partial(self._begin, fault))

    def end(self) -> None:
        """No more trouble from now on."""
        self._is_over = True
        for fault in list(self._ends):
            self._end(fault)

    def _begin(self, fault: Fault) -> None:
        if self._is_over or fault in self._ends:
            return
        self._region.trace.note(self._region.scheduler.now_us, f"fault-{fault.kind}", str(fault))
        end = _BEGIN[fault.kind](self, fault)
        if end is not None:
            self._ends[fault] = end
            self._region.scheduler.after(fault.for_us, lambda: self._end(fault))

    def _end(self, fault: Fault) -> None:
        end = self._ends.pop(fault, None)
        if end is not None:
            end()

    # ---- machines

    def _site(self, fault: Fault) -> Site:
        return self._region.sites[fault.one]

    def _crash(self, fault: Fault) -> None:
        self._site(fault).crash(fault.for_us)

    def _power_loss(self, fault: Fault) -> None:
        self._site(fault).power_loss(fault.for_us)

    def _restart(self, fault: Fault) -> None:
        self._site(fault).shut_down()

    def _pause(self, fault: Fault) -> End:
        self._site(fault).pause()
        return self._site(fault).resume

    def _skew(self, fault: Fault) -> End:
        self._site(fault).set_clock(fault.by)
        return lambda: self._site(fault).set_clock(0)

    # ---- disks

    def _slow_disk(self, fault: Fault) -> End:
        disk = self._site(fault).disk
        disk.slow = True
        return lambda: setattr(disk, "slow", False)

    def _full_disk(self, fault: Fault) -> End:
        volume = self._site(fault).disk.volume
        volume.free_bytes = fault.by
        return lambda: setattr(volume, "free_bytes", None)

    def _failed_sync(self, fault: Fault) -> End:
        """A disk that fails to sync is looked after: the machine goes down for it, and the page cache too."""
        site = self._site(fault)
        site.disk.volume.syncs_to_fail = 1

        def replace_disk() -> None:
            site.disk.volume.syncs_to_fail = 0
            site.power_loss(NEW_DISK_US)

        return replace_disk

    def _failed_disk(self, fault: Fault) -> End:
        site = self._site(fault)
        site.disk.volume.is_failing = True
        # Whoever was told of the failure may find the same mount again: it was only mounted for reading meanwhile.
        return lambda: site.remount(self._chance.happens(0.5), NEW_DISK_US)

    def _no_descriptors(self, fault: Fault) -> End:
        volume = self._site(fault).disk.volume
        volume.lacks_descriptors = True
        return lambda: setattr(volume, "lacks_descriptors", False)

    def _rot(self, fault: Fault) -> None:
        for path in rot(self._site(fault).disk, self._chance, DATA, fault.kind, fault.by):
            self._region.witness.see(Rotted(fault.one, path))

    # ---- what lies between

    def _isolate(self, fault: Fault) -> End:
        self._region.network.darken(fault.one)
        return lambda: self._region.network.relight(fault.one)

    def _cut(self, fault: Fault) -> End:
        self._region.network.close(*fault.ways)
        return lambda: self._region.network.reopen(*fault.ways)

    def _slow(self, fault: Fault) -> End:
        paths, by_us = self._region.network.paths, fault.by * MS
        paths.slow(by_us, *fault.ways)
        return lambda: paths.unslow(by_us, *fault.ways)

    def _reset(self, fault: Fault) -> None:
        if link := self._any_link(fault):
            link.cut_after(fault.by)

    def _half_open(self, fault: Fault) -> None:
        if link := self._any_link(fault):
            link.lose_server_side() if link.way == fault.ways[0] else link.lose_client_side()

    def _any_link(self, fault: Fault) -> Link | None:
        assert fault.other is not None
        links = self._region.network.links_between(fault.one, fault.other)
        return self._chance.pick(links) if links else None


_BEGIN: Final[Mapping[str, Callable[[Weather, Fault], End | None]]] = {
    "crash": Weather._crash,
    "power-loss": Weather._power_loss,
    "restart": Weather._restart,
    "pause": Weather._pause,
    "isolate": Weather._isolate,
    "cut": Weather._cut,
    "slow": Weather._slow,
    "reset": Weather._reset,
    "half-open": Weather._half_open,
    "skew": Weather._skew,
    "slow-disk": Weather._slow_disk,
    "full-disk": Weather._full_disk,
    "failed-sync": Weather._failed_sync,
    "failed-disk": Weather._failed_disk,
    "no-descriptors": Weather._no_descriptors,
    **dict.fromkeys(ROTTING, Weather._rot),
}
