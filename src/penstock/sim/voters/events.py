"""What happens to a quorum, as its watchers and the decider tell it."""

from __future__ import annotations

from dataclasses import dataclass, field

from penstock.sim.events import Event as WorldEvent

Keys = frozenset[str]
"""Everything that was ever decided, as one image has it: each decision adds a key that no other adds."""


@dataclass(frozen=True, slots=True)
class Leads:
    """A process takes itself for the leader of an epoch."""

    machine: int
    life: int
    epoch: int


@dataclass(frozen=True, slots=True)
class Commits:
    """A process takes everything up to an offset for committed."""

    machine: int
    life: int
    offset: int
    keys: Keys = field(repr=False)


@dataclass(frozen=True, slots=True)
class Confirmed:
    """A decision was confirmed, by a leader whose committed image then ended at an offset."""

    key: str
    offset: int


Event = Leads | Commits | Confirmed | WorldEvent
