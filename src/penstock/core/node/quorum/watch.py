"""Whether there is a controller that decides, as far as this node hears: elections, and a quorum lost and found."""

from __future__ import annotations

from typing import Final, Protocol

from penstock.core.node.host import Mortal
from penstock.core.node.observing.metrics import Metrics

LOOK_MS: Final = 1_000
LOST_MS: Final = 3_000
"""How long nobody leads before the quorum counts as lost: an election takes less."""


class Observed(Protocol):
    """What is looked at: the quorum as this node sees it."""

    @property
    def heard_leader(self) -> int | None: ...

    @property
    def epoch(self) -> int: ...

    @property
    def voter_ids(self) -> frozenset[int]: ...


class Watcher(Mortal, Protocol):
    """The node that looks, and counts."""

    @property
    def metrics(self) -> Metrics: ...


class QuorumWatch:
    """Looks whenever the leadership changes, and from time to time: that a leader is silent is no event."""

    def __init__(self, host: Watcher, quorum: Observed) -> None:
        self._host = host
        self._quorum = quorum
        self._told: tuple[int, int] | None = None
        self._missed_since_ms: int | None = None
        self._is_lost = False

    def begin(self) -> None:
        self.look()
        self._host.deadlines.at(self._host.now_ms + LOOK_MS, self.begin)

    @property
    def missed_ms(self) -> int:
        """For how long nobody has been heard of as the controller."""
        return 0 if self._missed_since_ms is None else self._steady_ms - self._missed_since_ms

    @property
    def complaint(self) -> str | None:
        """What is wrong, if the quorum is lost."""
        if not self._is_lost:
            return None
        voters = ", ".join(map(str, sorted(self._quorum.voter_ids)))
        return f"there is no quorum: no controller is elected; a majority of the controllers (nodes {voters}) must run"

    def look(self) -> None:
        """Who stops hands over, and need not hear who comes next."""
        leader = self._quorum.heard_leader
        if self._host.state not in ("starting", "running"):
            return
        if leader is None:
            self._miss()
        else:
            self._meet(leader)

    def _meet(self, leader: int) -> None:
        if self._missed_since_ms is not None:
            self._host.metrics.controller_elections_ms.observe(self.missed_ms)
        if self._is_lost and self._missed_since_ms is not None:
            away_s = (self._steady_ms - self._missed_since_ms) / 1000
            self._host.log("info", "quorum", f"the quorum is found again, after {away_s:.1f} s")
        self._missed_since_ms, self._is_lost = None, False
        found = (leader, self._quorum.epoch)
        if found != self._told:
            self._told = found
            self._host.log("info", "quorum", f"node {leader} is the controller, elected in epoch {found[1]}")

    def _miss(self) -> None:
        now_ms = self._steady_ms
        if self._missed_since_ms is None:
            self._missed_since_ms = now_ms
            if self._told is not None:
                text = f"node {self._told[0]} is not heard of as the controller any more: another one must be elected"
                self._host.log("info", "quorum", text)
        if not self._is_lost and now_ms - self._missed_since_ms >= LOST_MS:
            self._is_lost = True
            self._host.log("warning", "quorum", self.complaint or "")

    @property
    def _steady_ms(self) -> int:
        return self._host.now_us // 1000
