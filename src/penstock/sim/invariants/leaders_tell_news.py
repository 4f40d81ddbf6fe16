"""A fetch never misses news: what the leader that was asked knew to be committed is in its answer.

A new leader may not know yet what is committed, so what others were acknowledged cannot be demanded of it. Nor can
anything be of a follower, which serves those who were told to read there.
"""

from __future__ import annotations

from penstock.sim.events import UNKNOWN, Event, FetchAnswered, FetchAsked, Leads, Partition, Watermark
from penstock.sim.invariants.base import Invariant
from penstock.sim.model import Model

Place = tuple[Partition, int]


class LeadersTellNews(Invariant):
    """An incremental session names only what changed, so forgetting one partition would go unnoticed for ever."""

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self._committed: dict[Place, Watermark] = {}
        self._known: dict[tuple[str, int], dict[Place, Watermark]] = {}

    def see(self, event: Event) -> None:
        match event:
            case Watermark(leader):
                self._committed[_place(leader)] = event
            case FetchAsked(client, number, positions, limited, machine, near=False):
                places = [(partition, machine) for partition in positions]
                known = {place: self._committed[place] for place in places if place in self._committed}
                self._known[client, number] = {} if limited else known
            case FetchAnswered(client, number, parts):
                known = self._known.pop((client, number), {})
                if not any(part.error or part.read_from != UNKNOWN for part in parts):
                    self._judge(event, known)

    def _judge(self, answer: FetchAnswered, known: dict[Place, Watermark]) -> None:
        positions = self.model.asked[answer.client, answer.number].fetch.positions
        # What is damaged was told, and is nothing that the reader can use.
        told = {part.partition for part in answer.parts if part.goes_on_at is not None or part.damaged}
        for place, watermark in known.items():
            partition, machine = place
            still_leads = self._committed[place].leader == watermark.leader
            self.demand(
                partition in told or positions[partition] >= watermark.offset or not still_leads,
                f"{answer.client} at {positions[partition]} of {partition} was told nothing by {machine}, "
                f"which had {watermark.offset} for committed",
            )


def _place(leader: Leads) -> Place:
    return leader.partition, leader.machine
