"""What a controller does from time to time, without being asked: leaders back to where they belong, leaders at any
price where a topic wants that, and delegation tokens out of the metadata that have ended."""

from __future__ import annotations

from collections.abc import Callable

from penstock.core.base.settings import BrokerSettings
from penstock.core.metadata.delegation_tokens import ended
from penstock.core.metadata.elections import balancing, electing_uncleanly
from penstock.core.metadata.image import Image
from penstock.core.metadata.sweep import Sweep
from penstock.core.node.controller.term import Term

BALANCE, UNCLEAN, TOKENS = "balance", "unclean", "tokens"


class Chores:
    """Sweeps that come again; one of a kind goes on at a time."""

    def __init__(self, term: Term) -> None:
        self._term = term
        self._under_way: dict[str, Sweep] = {}
        self._again(BALANCE)
        self._again(UNCLEAN)
        self._again(TOKENS)

    def _again(self, name: str) -> None:
        interval_ms, _ = _CHORES[name]
        self._term.call_in(name, interval_ms(self._term.settings), lambda: self._do(name))

    def _do(self, name: str) -> None:
        self._again(name)
        last = self._under_way.get(name)
        if last is None or last.is_done:
            _, plan = _CHORES[name]
            sweep = plan(self._term.image, self._term.settings, self._term.host.now_ms)
            if sweep is not None:
                self._under_way[name] = sweep
                self._term.sweep([sweep])


def _balance(image: Image, settings: BrokerSettings, now_ms: int) -> Sweep | None:
    """A broker alone leads what can be led."""
    is_wanted = settings["auto.leader.rebalance.enable"] and len(image.brokers) > 1
    return balancing(image, settings) if is_wanted else None


def _elect_uncleanly(image: Image, settings: BrokerSettings, now_ms: int) -> Sweep | None:
    return electing_uncleanly(image, settings) if image.tally.leaderless else None


def _remove_ended_tokens(image: Image, settings: BrokerSettings, now_ms: int) -> Sweep | None:
    gone = ended(image.access.tokens, now_ms)
    return Sweep(image, None, lambda image, topic, partitions: [], opening=gone) if gone else None


_CHORES: dict[str, tuple[Callable[[BrokerSettings], int], Callable[[Image, BrokerSettings, int], Sweep | None]]] = {
    BALANCE: (lambda settings: settings["leader.imbalance.check.interval.seconds"] * 1000, _balance),
    UNCLEAN: (lambda settings: settings["unclean.leader.election.interval.ms"], _elect_uncleanly),
    TOKENS: (lambda settings: settings["delegation.token.expiry.check.interval.ms"], _remove_ended_tokens),
}
