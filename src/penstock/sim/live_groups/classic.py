"""A member that speaks the classic protocol in a live group, whatever kind that is at the moment."""

from __future__ import annotations

from penstock.sim.clients.client import Client, Disconnected
from penstock.sim.clients.consumer import Fetcher
from penstock.sim.clients.member import GroupPlan, Member, Rejoin
from penstock.sim.clients.offsets import Offsets
from penstock.sim.events import Partition
from penstock.sim.live_groups.fate import Fate, Left
from penstock.sim.live_groups.holdings import Holdings
from penstock.sim.live_groups.plan import GROUP
from penstock.sim.script import Script


class ClassicMember(Member):
    """One process. An eager one gives up all that it has before it joins again."""

    def __init__(
        self,
        client: Client,
        fetcher: Fetcher,
        offsets: Offsets,
        plan: GroupPlan,
        holdings: Holdings,
        fate: Fate,
    ) -> None:
        super().__init__(client, fetcher, offsets, plan, lambda positions: False)
        self._holdings = holdings
        self._fate = fate
        self._asked_ms = 0

    def live(self) -> Script[None]:
        """Until it dies, or leaves."""
        while True:
            try:
                self._check((yield from self._client.find_coordinator(GROUP)))
                self._holdings.keep(self._claim.partitions)
                self._asked_ms = self._holdings.now_ms
                yield from self._join()
                while True:
                    if not self._fate.forgets():
                        yield from self._beat()
                    code = yield from self._holdings.go_on(self._member_id, self._generation)
                    self._check(code)
                    yield from self._fate.step()
            except (Rejoin, Disconnected):
                yield from self._client.back_off()
            except Left:
                self._holdings.leave()
                yield from self._leave()
                return

    def _tell_assigned(self, partitions: tuple[Partition, ...], leads: bool) -> None:
        """Judged by what it has: generations of a group that has been empty begin anew."""

    def _hand_over(self, partitions: tuple[Partition, ...]) -> None:
        self._holdings.be(partitions, self._generation, self._asked_ms, is_classic=True)
        super()._hand_over(partitions)

    def _beat(self) -> Script[None]:
        sent_ms = self._holdings.now_ms
        yield from super()._beat()
        self._holdings.heard(sent_ms)
