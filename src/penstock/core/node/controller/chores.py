"""What a controller does from time to time, without being asked: leaders back to where they belong, and leaders at any
price where a topic wants that."""

from __future__ import annotations

from collections.abc import Callable

from penstock.core.base.settings import BrokerSettings
from penstock.core.metadata.elections import balancing, electing_uncleanly
from penstock.core.metadata.image import Image
from penstock.core.metadata.sweep import Sweep
from penstock.core.node.controller.term import Term

BALANCE, UNCLEAN = "balance", "unclean"


class Chores:
    """Sweeps that come again; one of a kind goes on at a time."""

    def __init__(self, term: Term) -> None:
        self._term = term
        self._under_way: dict[str, Sweep] = {}
        self._again(BALANCE)
        self._again(UNCLEAN)

    def _again(self, name: str) -> None:
        interval_ms, _ = _CHORES[name]
        self._term.call_in(name, interval_ms(self._term.settings), lambda: self._do(name))

    def _do(self, name: str) -> None:
        self._again(name)
        last = self._under_way.get(name)
        if last is None or last.is_done:
            _, plan = _CHORES[name]
            sweep = plan(self._term.image, self._term.settings)
            if sweep is not None:
                self._under_way[name] = sweep
                self._term.sweep([sweep])


def _balance(image: Image, settings: BrokerSettings) -> Sweep | None:
    """A broker alone leads what can be led."""
    is_wanted = settings["auto.leader.rebalance.enable"] and len(image.brokers) > 1
    return balancing(image, settings) if is_wanted else None


def _elect_uncleanly(image: Image, settings: BrokerSettings) -> Sweep | None:
    return electing_uncleanly(image, settings) if image.tally.leaderless else None


_CHORES: dict[str, tuple[Callable[[BrokerSettings], int], Callable[[Image, BrokerSettings], Sweep | None]]] = {
    BALANCE: (lambda settings: settings["leader.imbalance.check.interval.seconds"] * 1000, _balance),
    UNCLEAN: (lambda settings: settings["unclean.leader.election.interval.ms"], _elect_uncleanly),
}
