"""Which replicas should move so that every broker has its share: a pure function of who holds what.

A move takes one replica from a broker to another one that has at least two fewer, and never puts more replicas of a
partition into one rack or onto one host than before. Each move makes the sum of the squared loads smaller, so a plan
ends, is the same for the same picture, and is never taken back by the next one. Leadership is evened out afterwards by
the order of the replicas, which moves no bytes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

from penstock.core.base.values import frozen

STRICT, LOOSE, ANY = 2, 1, -(1 << 31)
"""How many more replicas of a topic the giver must have than the taker. Topics are spread evenly as well, as far as
that costs no further moves: what evens out a topic goes first, what makes it less even goes last."""

NO_LIMIT = 1 << 31

ReplicaSet = tuple[int, ...]
"""As the image has it; commands that plan need nothing else of that."""

Improve = Callable[[ReplicaSet], ReplicaSet | None]


class Site(NamedTuple):
    """A broker and where it stands. A host is one of its rack; brokers that tell none are hosts of their own."""

    id: int
    rack: str | None = None
    host: str | None = None
    takes: bool = True
    """Whether it may get more replicas than it has."""


class ReplicaSets(Protocol):
    """Those of a topic's partitions, by index."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: int, /) -> ReplicaSet: ...

    def __iter__(self) -> Iterator[ReplicaSet]: ...


class Layout(NamedTuple):
    """The replicas of a topic's partitions, and the order in which they are considered."""

    topic: str
    replicas: ReplicaSets
    order: Sequence[int] | None = None


class Shift(NamedTuple):
    """A partition whose replicas, or only their order, are to change."""

    topic: str
    number: int
    before: ReplicaSet
    after: ReplicaSet

    @property
    def coming(self) -> ReplicaSet:
        return tuple(replica for replica in self.after if replica not in self.before)

    @property
    def going(self) -> ReplicaSet:
        return tuple(replica for replica in self.before if replica not in self.after)


@frozen
class Aim:
    """How much is to be done at once, and how even is even enough."""

    tolerance: float = 0.0
    """A broker that has this part less than its share takes nothing; 0 makes it as even as it gets."""
    copies_max: int = NO_LIMIT
    reorders_max: int = NO_LIMIT
    improve_spread: bool = False
    """Whether replicas also move apart where they could stand in more racks, or on more hosts, than they do."""


class Planner:
    """Makes one plan. `run` yields how many partitions it has looked at since it last did, so that whoever has little
    time can pause; `shifts` has the plan afterwards."""

    def __init__(self, sites: Iterable[Site], aim: Aim, leaving: Iterable[int] = ()) -> None:
        self._sites = {site.id: site for site in sites}
        self._aim = aim
        self._leaving = frozenset(leaving)
        self._takers = sorted(site.id for site in self._sites.values() if site.takes and site.id not in self._leaving)
        self._loads: Counter[int] = Counter(dict.fromkeys(self._sites, 0))
        self._leads: Counter[int] = Counter(dict.fromkeys(self._sites, 0))
        self._in_topic: Counter[int] = Counter()
        self._planned: dict[str, dict[int, Shift]] = {}
        self._copies = self._reorders = 0
        self._difference_min = STRICT
        self._hungry_below = float("inf")
        self._hungry_to_lead_below = float("inf")

    @property
    def shifts(self) -> list[Shift]:
        planned = (shift for shifts in self._planned.values() for shift in shifts.values())
        return [shift for shift in planned if shift.before != shift.after]

    @property
    def loads(self) -> Mapping[int, int]:
        """Replicas by broker: as they were counted, and after the plan."""
        return self._loads

    @property
    def leads(self) -> Mapping[int, int]:
        return self._leads

    def plan(self, layouts: Iterable[Layout]) -> list[Shift]:
        """All of it at once."""
        for _ in self.run(layouts):
            pass
        return self.shifts

    def run(self, layouts: Iterable[Layout]) -> Iterator[int]:
        """Goes through the layouts more than once. Where brokers leave, they are emptied and nothing else is done."""
        yield from self._survey(layouts)
        if not self._takers:
            return
        if self._leaving:
            yield from self._visit(layouts, self._evacuate)
            return
        if self._aim.improve_spread:
            yield from self._visit(layouts, self._spread_out)
        for self._difference_min in (STRICT, LOOSE, ANY):
            yield from self._while_it_helps(layouts, self._even_out, self._is_even)
        # What is moving may yet change who leads: the order comes last.
        if self._copies == 0 or self._aim.copies_max == NO_LIMIT:
            yield from self._while_it_helps(layouts, self._reorder, self._is_led_evenly)

    # Looking

    def _survey(self, layouts: Iterable[Layout]) -> Iterator[int]:
        total = leaders = 0
        for layout in layouts:
            for replicas, count in Counter(layout.replicas).items():
                for replica in replicas:
                    self._loads[replica] += count
                    total += count
                self._leads[replicas[0]] += count
                leaders += count
            yield 1 + len(layout.replicas)
        self._sort_takers()
        if self._aim.tolerance and self._takers:
            enough = (1 - self._aim.tolerance) / len(self._sites)
            self._hungry_below, self._hungry_to_lead_below = total * enough, leaders * enough

    def _while_it_helps(
        self, layouts: Iterable[Layout], improve: Improve, is_even: Callable[[], bool]
    ) -> Iterator[int]:
        """Again and again, because a move can make room for another one."""
        done = -1
        while done != self._copies + self._reorders and not self._is_full() and not is_even():
            done = self._copies + self._reorders
            yield from self._visit(layouts, improve)

    def _is_even(self) -> bool:
        """Whether nobody could give anything to anybody, wherever they stand."""
        return _is_even(self._loads, self._takers, self._hungry_below)

    def _is_led_evenly(self) -> bool:
        return _is_even(self._leads, self._takers, self._hungry_to_lead_below)

    def _visit(self, layouts: Iterable[Layout], improve: Improve) -> Iterator[int]:
        for layout in layouts:
            if self._is_full():
                return
            self._visit_topic(layout, improve)
            yield 1 + len(layout.replicas)

    def _visit_topic(self, layout: Layout, improve: Improve) -> None:
        planned = self._planned.get(layout.topic, {})
        self._in_topic = _replicas_by_broker(layout.replicas)
        for shift in planned.values():
            self._in_topic.subtract(shift.going)
            self._in_topic.update(shift.coming)
        for index in range(len(layout.replicas)) if layout.order is None else layout.order:
            before = layout.replicas[index]
            after = improve(planned[index].after if index in planned else before)
            if after is not None:
                planned[index] = Shift(layout.topic, index, before, after)
                self._planned[layout.topic] = planned
                if self._is_full():
                    return

    def _is_full(self) -> bool:
        return self._copies >= self._aim.copies_max or self._reorders >= self._aim.reorders_max

    # Improving one partition; None where there is nothing to improve

    def _evacuate(self, replicas: ReplicaSet) -> ReplicaSet | None:
        """Everything off the brokers that leave; what nobody else can take stays."""
        after = replicas
        for giver in replicas:
            if giver in self._leaving:
                taker = self._best_taker(after, giver)
                if taker is not None:
                    after = self._replace(after, giver, taker)
        return after if after != replicas else None

    def _spread_out(self, replicas: ReplicaSet) -> ReplicaSet | None:
        crowded = self.crowding(replicas)
        after = replicas
        for giver in replicas:
            taker = self._best_taker(after, giver)
            if taker is not None and self.crowding(_swapped(after, giver, taker)) < crowded:
                after = self._replace(after, giver, taker)
                crowded = self.crowding(after)
        return after if after != replicas else None

    def _even_out(self, replicas: ReplicaSet) -> ReplicaSet | None:
        loads, in_topic = self._loads, self._in_topic
        lightest = loads[self._takers[0]]
        heavy = [replica for replica in replicas if loads[replica] >= lightest + 2]
        if not heavy or lightest >= self._hungry_below:
            return None
        crowded = self.crowding(replicas)
        for giver in sorted(heavy, key=lambda replica: (-loads[replica], replica)):
            for taker in self._takers:
                if loads[giver] < loads[taker] + 2 or loads[taker] >= self._hungry_below:
                    break
                if taker in replicas or in_topic[giver] - in_topic[taker] < self._difference_min:
                    continue
                if self.crowding(_swapped(replicas, giver, taker)) <= crowded:
                    return self._replace(replicas, giver, taker)
        return None

    def _reorder(self, replicas: ReplicaSet) -> ReplicaSet | None:
        leads = self._leads
        heirs = [replica for replica in replicas[1:] if replica in self._takers]
        heir = min(heirs, key=lambda replica: (leads[replica], replica), default=replicas[0])
        if leads[replicas[0]] < leads[heir] + 2 or leads[heir] >= self._hungry_to_lead_below:
            return None
        leads[replicas[0]] -= 1
        leads[heir] += 1
        self._reorders += 1
        return (heir, *(replica for replica in replicas if replica != heir))

    # Changing the number of replicas

    def resize(self, replicas: ReplicaSet, factor: int) -> ReplicaSet:
        """More replicas where they are best, or without those that are missed least; the preferred leader stays. Fewer
        than asked for where there are no more brokers."""
        after = replicas
        while len(after) > factor:
            least = min(after[1:], key=lambda each: (self.crowding(_without(after, each)), -self._loads[each], -each))
            after = _without(after, least)
            self._loads[least] -= 1
        while len(after) < factor and (taker := self._best_taker(after)) is not None:
            after = (*after, taker)
            self._took(taker)
        return after

    def survey(self, layouts: Iterable[Layout]) -> None:
        """Count who holds what, for those who resize."""
        for _ in self._survey(layouts):
            pass

    # Arithmetic

    def crowding(self, replicas: ReplicaSet) -> tuple[int, int]:
        """How closely replicas stand together, by racks and then by hosts; smaller is better."""
        racks: Counter[str] = Counter()
        hosts: Counter[tuple[str, str | int]] = Counter()
        for replica in replicas:
            site = self._sites.get(replica)
            rack = (site and site.rack) or ""
            racks[rack] += 1
            hosts[rack, replica if site is None or site.host is None else site.host] += 1
        return sum(count * count for count in racks.values()), sum(count * count for count in hosts.values())

    def _best_taker(self, replicas: ReplicaSet, giver: int | None = None) -> int | None:
        """Who stands farthest from the others, then has least."""
        others = replicas if giver is None else _without(replicas, giver)
        free = [taker for taker in self._takers if taker not in replicas]
        return min(
            free,
            key=lambda taker: (self.crowding((*others, taker)), self._loads[taker], self._in_topic[taker], taker),
            default=None,
        )

    def _replace(self, replicas: ReplicaSet, giver: int, taker: int) -> ReplicaSet:
        """The taker stands where the giver stood. Who follows a preferred leader is whoever leads least."""
        self._loads[giver] -= 1
        self._in_topic[giver] -= 1
        self._took(taker)
        after = _swapped(replicas, giver, taker)
        if replicas[0] == giver:
            heir = min(after, key=lambda each: (self._leads[each], each != taker, each))
            self._leads[giver] -= 1
            self._leads[heir] += 1
            after = (heir, *_without(after, heir))
        return after

    def _took(self, taker: int) -> None:
        self._loads[taker] += 1
        self._in_topic[taker] += 1
        self._copies += 1
        self._sort_takers()

    def _sort_takers(self) -> None:
        self._takers.sort(key=lambda each: (self._loads[each], each))


def _is_even(loads: Mapping[int, int], takers: Sequence[int], hungry_below: float) -> bool:
    lightest = min(loads[taker] for taker in takers)
    return max(loads.values()) < lightest + 2 or lightest >= hungry_below


def _replicas_by_broker(sets: ReplicaSets) -> Counter[int]:
    found: Counter[int] = Counter()
    for replicas, count in Counter(sets).items():
        for replica in replicas:
            found[replica] += count
    return found


def _swapped(replicas: ReplicaSet, giver: int, taker: int) -> ReplicaSet:
    return tuple(taker if replica == giver else replica for replica in replicas)


def _without(replicas: ReplicaSet, broker: int) -> ReplicaSet:
    return tuple(replica for replica in replicas if replica != broker)
