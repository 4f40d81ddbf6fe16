"""A log goes offline, and a node ends, because the disk has failed, and for no other reason."""

from __future__ import annotations

from penstock.sim.events import BlamedDisk, Event, TakenOffline
from penstock.sim.invariants.base import Invariant


class DisksFailFirst(Invariant):
    """A disk that is full is no reason, nor is a lack of descriptors: there will be room again, and descriptors."""

    def see(self, event: Event) -> None:
        match event:
            case TakenOffline(partition, machine, why):
                self.object(f"machine {machine} took {partition} offline, its disk is well: {why}")
            case BlamedDisk(machine, why):
                self.object(f"the node of machine {machine} ended, its disk is well: {why}")
