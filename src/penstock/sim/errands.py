"""Errands: what operators do to a cluster while its clients work, one line of text each, beside the lines of a storm.

    at 5 s create fleeting               a topic, and its end
    at 9 s delete fleeting
    at 10 s grow grown to 4              so many partitions
    at 14 s set kept min.insync.replicas to 1
    at 20 s elect kept-0                 its first replica leads again, if it can
    at 21 s reassign kept-0 to 2,3
    at 22 s cancel kept-0                whatever moves in it
    at 30 s unseat 2                     it votes no longer, where voters are kept in the log
    at 35 s seat 2
    at 40 s drain 2                      others lead for it, where they can
    at 45 s undrain 2

Each topic has one operator, and so have the voters and the drains, who does one thing after the other and asks until it
is answered.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from penstock.sim.chance import Chance
from penstock.sim.events import Partition
from penstock.sim.scheduler import MS
from penstock.sim.storm import BadStorm, parse_time

FLEETING: Final = "fleeting"
GROWN: Final = "grown"
PARTITIONS_MAX: Final = 5
OFTEN: Final = 4
CANCELLED_AFTER_MS_MAX: Final = 2_000
SEGMENT_MS: Final = ("5000", "20000", "600000")
AWAY_MS: Final = (3_000, 15_000)
DRAINED_MS: Final = (500, 15_000)
UNSEATED_MS: Final = (500, 12_000)
CHURN_EACH_MS: Final = (200, 800)

_LINE: Final = re.compile(
    r"at (?P<at>\S+ m?s) (?P<kind>[a-z]+) (?P<subject>\S+)( (?P<setting>[a-z.]+\.[a-z.]+))?( to (?P<value>\S+))?"
)
KINDS: Final = frozenset(
    {"create", "delete", "grow", "set", "elect", "reassign", "cancel", "seat", "unseat", "drain", "undrain"}
)
OF_A_VOTER: Final = frozenset({"seat", "unseat"})
OF_A_BROKER: Final = frozenset({"drain", "undrain"})
VOTERS: Final = "voters"
OF_A_MACHINE: Final = {**dict.fromkeys(OF_A_VOTER, VOTERS), **dict.fromkeys(OF_A_BROKER, "drains")}
"""What has an operator of its own, whatever machine it is about."""
OF_A_PARTITION: Final = frozenset({"elect", "reassign", "cancel"})
WITH_A_VALUE: Final = frozenset({"grow", "set", "reassign"})


@dataclass(frozen=True, slots=True)
class Errand:
    """One line."""

    at_us: int
    kind: str
    subject: str
    setting: str = ""
    value: str = ""

    @property
    def topic(self) -> str:
        """Whose operator runs it."""
        if self.kind in OF_A_MACHINE:
            return OF_A_MACHINE[self.kind]
        return self.subject.rpartition("-")[0] if self.kind in OF_A_PARTITION else self.subject

    @property
    def partition(self) -> Partition:
        topic, _, number = self.subject.rpartition("-")
        return Partition(topic, int(number))

    def __str__(self) -> str:
        setting = f" {self.setting}" if self.setting else ""
        value = f" to {self.value}" if self.value else ""
        return f"at {self.at_us // MS} ms {self.kind} {self.subject}{setting}{value}"


def is_errand(line: str) -> bool:
    """Whether a line is about an errand, and not about a fault."""
    words = line.split()
    return len(words) > 3 and words[3] in KINDS


def parse_errand(line: str) -> Errand:
    found = _LINE.fullmatch(line)
    if found is None or found["kind"] not in KINDS:
        raise BadStorm(f"not an errand: {line}")
    kind, setting, value = found["kind"], found["setting"] or "", found["value"] or ""
    wrongs = {
        "needs a partition, as in kept-0": kind in OF_A_PARTITION and not re.fullmatch(r".+-\d+", found["subject"]),
        "needs a machine, as in 2": kind in OF_A_MACHINE and not found["subject"].isdigit(),
        "says to what" if kind in WITH_A_VALUE else "has no value": (kind in WITH_A_VALUE) != bool(value),
        "names a setting" if kind == "set" else "has no setting": (kind == "set") != bool(setting),
        "names machines, as in 1,2": kind == "reassign" and not re.fullmatch(r"\d+(,\d+)*", value),
        "names a number": kind == "grow" and not value.isdigit(),
    }
    for wrong, is_so in wrongs.items():
        if is_so:
            raise BadStorm(f"{kind} {wrong}: {line}")
    return Errand(parse_time(found["at"]), kind, found["subject"], setting, value)


class Errands:
    """Draws what operators will do."""

    def __init__(self, chance: Chance, machines: int, duration_us: int, is_synced: bool) -> None:
        """What is acknowledged before it is synced rests on several machines having it: then no errand may leave it to
        fewer than those who may lose their power, plus one."""
        self._chance = chance
        self._machines = machines
        self._duration_us = duration_us
        self._is_synced = is_synced
        self._spared = chance.between(1, machines)

    def draw(self, partitions: Sequence[Partition]) -> tuple[Errand, ...]:
        """Errands of which each kind may be missing."""
        chance, found = self._chance, list[Errand]()
        if chance.happens(0.6):
            found += self._comings_and_goings()
        if chance.happens(0.6):
            found += self._growing()
        if chance.happens(0.6):
            found += [self._setting(chance.pick(partitions).topic) for _ in range(chance.between(1, OFTEN))]
        if chance.happens(0.6):
            found += [
                Errand(self._at(), "elect", str(chance.pick(partitions))) for _ in range(chance.between(1, OFTEN))
            ]
        if chance.happens(0.6):
            for _ in range(chance.between(1, OFTEN)):
                found += self._moving(chance.pick(partitions))
        return tuple(sorted(found, key=lambda errand: errand.at_us))

    def wander(self, chance: Chance, partition: Partition) -> tuple[Errand, ...]:
        """A replica is taken away, and brought back when there is more for it to copy."""
        everybody = list(range(1, self._machines + 1))
        away_us, back_us = chance.between(0, self._duration_us // MS // 2) * MS, chance.between(*AWAY_MS) * MS
        moves = (
            (away_us, [each for each in everybody if each != self._spared]),
            (away_us + back_us, _shuffled(chance, everybody)),
        )
        return tuple(Errand(at_us, "reassign", str(partition), value=_listed(target)) for at_us, target in moves)

    def reseat(self, chance: Chance) -> tuple[Errand, ...]:
        """Voters go and come back, one after the other: there are never fewer than all but one."""
        found, at_us = list[Errand](), 0
        for _ in range(chance.between(1, OFTEN)):
            at_us += chance.between(0, self._duration_us // MS // OFTEN) * MS
            voter, back_us = str(chance.between(1, self._machines)), at_us + chance.between(*UNSEATED_MS) * MS
            found += [Errand(at_us, "unseat", voter), Errand(back_us, "seat", voter)]
            at_us = back_us
        return tuple(found)

    def drain(self, chance: Chance) -> tuple[Errand, ...]:
        """Machines are drained one after the other, as for their maintenance; the last one perhaps until the end."""
        found, at_us = list[Errand](), 0
        for _ in range(chance.between(1, OFTEN)):
            at_us += chance.between(0, self._duration_us // MS // OFTEN) * MS
            machine, back_us = str(chance.between(1, self._machines)), at_us + chance.between(*DRAINED_MS) * MS
            found += [Errand(at_us, "drain", machine), Errand(back_us, "undrain", machine)]
            at_us = back_us
        return tuple(found[:-1] if chance.happens(0.5) else found)

    def _at(self) -> int:
        return self._chance.between(0, self._duration_us // MS) * MS

    def _times(self, count: int) -> list[int]:
        return sorted(self._at() for _ in range(count))

    def _comings_and_goings(self) -> Iterable[Errand]:
        kinds = ("create", "delete")
        times = self._times(self._chance.between(1, 2 * OFTEN))
        return [Errand(at_us, kinds[number % 2], FLEETING) for number, at_us in enumerate(times)]

    def _growing(self) -> Iterable[Errand]:
        times = self._times(self._chance.between(1, PARTITIONS_MAX - 1))
        return [Errand(at_us, "grow", GROWN, value=str(count)) for count, at_us in enumerate(times, 2)]

    def _setting(self, topic: str) -> Errand:
        replicas = min(3, self._machines)
        fewest = 1 if self._is_synced else min(2, replicas)
        name, value = self._chance.pick(
            (
                ("min.insync.replicas", str(self._chance.between(fewest, replicas))),
                ("segment.ms", self._chance.pick(SEGMENT_MS)),
            )
        )
        return Errand(self._at(), "set", topic, name, value)

    def _moving(self, partition: Partition) -> Iterable[Errand]:
        at_us, subject = self._at(), str(partition)
        found = [Errand(at_us, "reassign", subject, value=_listed(self._target()))]
        if self._chance.happens(0.4):
            at_us += self._chance.skewed(0, CANCELLED_AFTER_MS_MAX) * MS
            found.append(Errand(at_us, "cancel", subject))
        return found

    def _target(self) -> list[int]:
        """Any machines; or all, or all but always the same one, so that nothing is ever on new replicas only."""
        chance, machines = self._chance, list(range(1, self._machines + 1))
        if self._is_synced:
            chosen = _shuffled(chance, machines)[: chance.between(2, min(4, self._machines))]
        else:
            chosen = [each for each in machines if each != self._spared or chance.happens(0.5)]
        return _shuffled(chance, chosen)


def churn(chance: Chance, from_us: int, to_us: int) -> tuple[Errand, ...]:
    """One decision after the other, so that there is more metadata than a snapshot leaves in the log."""
    found, at_us = list[Errand](), from_us
    while at_us < to_us:
        found.append(Errand(at_us, "set", GROWN, "segment.ms", chance.pick(SEGMENT_MS)))
        at_us += chance.between(*CHURN_EACH_MS) * MS
    return tuple(found)


def _listed(machines: Iterable[int]) -> str:
    return ",".join(str(each) for each in machines)


def _shuffled(chance: Chance, numbers: list[int]) -> list[int]:
    left, found = list(numbers), list[int]()
    while left:
        found.append(left.pop(chance.between(0, len(left) - 1)))
    return found
