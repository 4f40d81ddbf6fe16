"""Brokers that join get their share by themselves (`auto.balance.enable`): the controller looks from time to time, and
moves some replicas at once to a broker that has too few, under a throttle, while everything else is well.

It keeps no plan. Each look begins with the image alone, and moves nothing while anything moves: whoever controls next
goes on where the last one stopped.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from penstock.core.base.errors import ErrorCode
from penstock.core.base.ports import Pause, Steps
from penstock.core.metadata.balancing import Aim, Planner, Shift
from penstock.core.metadata.elections import balancing
from penstock.core.metadata.image import Image
from penstock.core.metadata.moving import (
    THROTTLE,
    Layouts,
    beginning,
    is_throttled,
    is_whole,
    pending,
    sites,
    unmarking,
    unrest,
    unthrottling,
)
from penstock.core.metadata.sweep import LOOKED_AT_PER_TURN_MAX
from penstock.core.node.controller.term import Term

AUTO_BALANCE: Final = "auto balance"
ENABLE: Final = "auto.balance.enable"
INTERVAL: Final = "auto.balance.interval.ms"
MOVES_MAX: Final = "auto.balance.moves.max"

TOLERANCE: Final = 0.05
"""Who lacks no more than this part of its share has enough."""
REORDERS_PER_LOOK_MAX: Final = 250
BUSY_MS: Final = 500
"""Between looks while something moves."""
PARTITIONS_PER_TURN_MAX: Final = LOOKED_AT_PER_TURN_MAX // 20
"""A planner takes some microseconds for a partition, where a sweep takes a fraction of one."""
ARRAYS_FASTER_BY: Final = 100
"""Comparing the sets of a whole topic takes so much less than planning for its partitions."""


class Rebalancer:
    """One look at a time; the term's end ends it."""

    def __init__(self, term: Term) -> None:
        self._term = term
        self._is_looking = False
        self._is_moving = is_throttled(term.image, self._rate)
        self._has_gap = False
        self._again()

    @property
    def _rate(self) -> str:
        return str(self._term.settings[THROTTLE])

    def _again(self) -> None:
        interval_ms: int = self._term.settings[INTERVAL]
        self._term.call_in(AUTO_BALANCE, min(BUSY_MS, interval_ms) if self._is_moving else interval_ms, self._look)

    def _look(self) -> None:
        self._again()
        if self._is_looking or self._term.image.tally.reassigning:
            return
        if self._is_moving:
            self._arrived()
        if self._may_move():
            self._is_looking = True
            self._term.host.tasks.run(self._plan(self._term.image))

    def _arrived(self) -> None:
        self._is_moving = False
        if is_throttled(self._term.image, self._rate):
            self._term.commit(unthrottling(self._term.image), lambda code: None)

    def _may_move(self) -> bool:
        image = self._term.image
        return bool(self._term.settings[ENABLE] and pending(image)) and unrest(image) is None

    def _plan(self, image: Image) -> Steps[None]:
        planner = Planner(sites(image), Aim(TOLERANCE, self._term.settings[MOVES_MAX], REORDERS_PER_LOOK_MAX))
        self._has_gap = False
        yield from self._paced(self._look_for_gaps(image))
        if not self._has_gap:
            yield from self._paced(planner.run(Layouts(image)))
        self._is_looking = False
        if not self._has_gap and not self._term.is_over:
            self._carry_out(image, planner.shifts)

    def _look_for_gaps(self, image: Image) -> Iterator[int]:
        """A topic that has replicas out of sync has enough to do."""
        for topic in image.topics.values():
            if not is_whole(topic):
                self._has_gap = True
                return
            yield 1 + len(topic) // ARRAYS_FASTER_BY

    def _paced(self, work: Iterator[int]) -> Steps[None]:
        """Work that tells how many partitions it has looked at, with pauses."""
        looked_at = 0
        for count in work:
            looked_at += count
            if looked_at > PARTITIONS_PER_TURN_MAX:
                looked_at = 0
                yield Pause()
                if self._term.is_over:
                    return

    def _carry_out(self, image: Image, shifts: list[Shift]) -> None:
        term = self._term
        if not shifts:
            # Who joined while the plan was made is not in it, and keeps its mark.
            term.commit(unmarking(image), lambda code: None)
            self._lead_where_preferred()
        elif unrest(term.image) is None:
            copies = sum(len(shift.coming) for shift in shifts)
            term.host.log(
                "info",
                "controller",
                f"balancing: {len(shifts)} partitions get other replicas, {copies} copies are made",
            )
            self._is_moving = True
            term.commit(beginning(term.image, term.settings, shifts), self._begun)

    def _begun(self, code: ErrorCode) -> None:
        if code is not ErrorCode.NONE and not self._term.is_over:
            self._term.host.log("warning", "controller", f"balancing: the moves could not be written ({code.name})")

    def _lead_where_preferred(self) -> None:
        """Once replicas have arrived, leaders follow without waiting for the next general look."""
        if self._term.settings["auto.leader.rebalance.enable"]:
            self._term.sweep([balancing(self._term.image, self._term.settings)])
