"""Storms: the faults of a cluster, one line of text each, written by hand or drawn from a seed.

    at 10 s cut 1-2 for 3 s             nothing passes between the two machines
    at 10 s cut 1>2 for 3 s             nothing passes from the first to the second
    at 12 s slow 1-3 by 200 ms for 5 s
    at 15 s reset 2-3 by 100 bytes      one of their connections ends after so many more bytes
    at 15 s half-open 2>3               one of their connections ends, and only the first learns it
    at 20 s isolate 2 for 4 s           nobody reaches it, it reaches nobody; its clients neither
    at 20 s crash 3 for 800 ms          the process dies and is started again after that time
    at 25 s power-loss 3 for 2 s
    at 30 s restart 1                   it stops in good order
    at 30 s pause 1 for 5 s
    at 35 s skew 2 by -600000 ms for 9 s
    at 40 s slow-disk 1 for 2 s
    at 40 s full-disk 1 by 500 bytes for 2 s
    at 45 s failed-sync 2 for 1 s       one sync fails; then the machine goes down for a new disk
    at 50 s failed-disk 1 for 1 s       from the next sync on it refuses everything; then it is mounted again, and all
                                        is lost that was not synced, though the machine goes on
    at 50 s no-descriptors 1 for 2 s    every other operation that must open something finds no descriptor for it
    at 55 s rot-log 2 by 3 bits         they flip in what it holds of partitions
    at 55 s rot-tail 2 by 1 bits        in what was written there last
    at 55 s rot-index 2 by 2 bits
    at 55 s rot-metadata 2 by 1 bits    in the metadata log, and in its snapshots

Machine 0 is where all clients are. A run that fails names its storm, so that lines can be taken out of it until only
those are left that matter.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple

from penstock.sim.chance import Chance
from penstock.sim.paths import Way
from penstock.sim.scheduler import MS, SECOND

MS_UNIT: Final = "ms"
BYTES_UNIT: Final = "bytes"
BITS_UNIT: Final = "bits"

_UNITS: Final = {"s": SECOND, "ms": MS}
_LINE: Final = re.compile(
    r"at (?P<at>\S+ m?s) (?P<kind>[a-z-]+) (?P<one>\d+)((?P<sign>[->])(?P<other>\d+))?"
    r"( by (?P<by>-?\d+) (?P<unit>ms|bytes|bits))?( for (?P<for>\S+ m?s))?"
)


class Kind(NamedTuple):
    """What a line of this kind says, and how much of it a storm brings at most."""

    often: int  # 0: it comes only beside others, with dice of its own.
    pairs: bool = False  # Between two machines, rather than on one.
    directed: bool | None = None  # Always in one direction, or never; None where a line says which.
    for_ms_max: int = 0
    by_unit: str = ""
    by_range: tuple[int, int] = (0, 0)


KINDS: Final = {
    "crash": Kind(4, for_ms_max=4_000),
    "power-loss": Kind(3, for_ms_max=4_000),
    "restart": Kind(2),
    "pause": Kind(3, for_ms_max=6_000),
    "isolate": Kind(3, for_ms_max=8_000),
    "cut": Kind(4, pairs=True, for_ms_max=8_000),
    "slow": Kind(2, pairs=True, for_ms_max=8_000, by_unit=MS_UNIT, by_range=(1, 300)),
    "reset": Kind(5, pairs=True, directed=False, by_unit=BYTES_UNIT, by_range=(1, 2_000)),
    "half-open": Kind(2, pairs=True, directed=True),
    "skew": Kind(2, for_ms_max=20_000, by_unit=MS_UNIT, by_range=(-1_800_000, 1_800_000)),
    "slow-disk": Kind(2, for_ms_max=4_000),
    "full-disk": Kind(1, for_ms_max=4_000, by_unit=BYTES_UNIT, by_range=(0, 4_000)),
    "failed-sync": Kind(1, for_ms_max=4_000),
    "failed-disk": Kind(0, for_ms_max=4_000),
    "no-descriptors": Kind(0, for_ms_max=4_000),
    "rot-log": Kind(0, by_unit=BITS_UNIT, by_range=(1, 3)),
    "rot-tail": Kind(0, by_unit=BITS_UNIT, by_range=(1, 3)),
    "rot-index": Kind(0, by_unit=BITS_UNIT, by_range=(1, 3)),
    "rot-metadata": Kind(0, by_unit=BITS_UNIT, by_range=(1, 3)),
}


@dataclass(frozen=True, slots=True)
class Fault:
    """One line of a storm."""

    at_us: int
    kind: str
    one: int
    other: int | None = None
    is_directed: bool = False
    by: int = 0
    for_us: int = 0

    @property
    def ways(self) -> tuple[Way, ...]:
        """The directions that it is about."""
        assert self.other is not None
        there, back = (self.one, self.other), (self.other, self.one)
        return (there,) if self.is_directed else (there, back)

    def __str__(self) -> str:
        pair = "" if self.other is None else f"{'>' if self.is_directed else '-'}{self.other}"
        unit = KINDS[self.kind].by_unit
        by = f" by {self.by} {unit}" if unit else ""
        duration = f" for {self.for_us // MS} ms" if self.for_us else ""
        return f"at {self.at_us // MS} ms {self.kind} {self.one}{pair}{by}{duration}"


class BadStorm(ValueError):
    """A line that says nothing."""


def parse_storm(text: str) -> tuple[Fault, ...]:
    """The faults in a text, one per line; what follows a # is for people."""
    lines = [line.partition("#")[0].strip() for line in text.splitlines()]
    return tuple(_parse(line) for line in lines if line)


def write_storm(faults: Iterable[Fault]) -> str:
    return "".join(f"{fault}\n" for fault in faults)


def draw_storm(chance: Chance, machines: int, duration_us: int, faults_min: int) -> tuple[Fault, ...]:
    """A storm in which each kind of fault may be missing, because some bugs show only when nothing else disturbs."""
    faults: list[Fault] = []
    while len(faults) < faults_min:
        for name, kind in ((name, kind) for name, kind in KINDS.items() if kind.often):
            count = chance.between(1, kind.often) if chance.happens(0.6) else 0
            faults += [_draw(chance, name, kind, machines, duration_us) for _ in range(count)]
    return tuple(sorted(faults, key=lambda fault: fault.at_us))


def _draw(chance: Chance, name: str, kind: Kind, machines: int, duration_us: int) -> Fault:
    one = chance.between(1, machines)
    # Of the others, clients included.
    other = chance.pick([number for number in range(machines + 1) if number != one]) if kind.pairs else None
    is_directed = kind.pairs and (chance.happens(0.3) if kind.directed is None else kind.directed)
    return Fault(
        at_us=chance.between(0, duration_us // MS) * MS,
        kind=name,
        one=one,
        other=other,
        is_directed=is_directed,
        by=chance.between(*kind.by_range) if kind.by_unit else 0,
        for_us=chance.between(1, kind.for_ms_max) * MS if kind.for_ms_max else 0,
    )


def _parse(line: str) -> Fault:
    found = _LINE.fullmatch(line)
    if found is None or found["kind"] not in KINDS:
        raise BadStorm(f"not a fault: {line}")
    fault = Fault(
        at_us=parse_time(found["at"]),
        kind=found["kind"],
        one=int(found["one"]),
        other=None if found["other"] is None else int(found["other"]),
        is_directed=found["sign"] == ">",
        by=int(found["by"] or 0),
        for_us=parse_time(found["for"]) if found["for"] else 0,
    )
    _check(fault, line, found["unit"] or "")
    return fault


def _check(fault: Fault, line: str, unit: str) -> None:
    kind = KINDS[fault.kind]
    wrongs = {
        "needs two machines" if kind.pairs else "is about one machine": kind.pairs != (fault.other is not None),
        "has one direction, as in 1>2": kind.directed is True and not fault.is_directed,
        "has no direction, as in 1-2": kind.directed is False and fault.is_directed,
        "lasts for some time" if kind.for_ms_max else "does not last": bool(kind.for_ms_max) != bool(fault.for_us),
        f"says by how many {kind.by_unit}" if kind.by_unit else "has no measure": unit != kind.by_unit,
    }
    for wrong, is_so in wrongs.items():
        if is_so:
            raise BadStorm(f"{fault.kind} {wrong}: {line}")


def parse_time(text: str) -> int:
    """Microseconds, of a number and its unit."""
    number, unit = text.split()
    try:
        return round(float(number) * _UNITS[unit])
    except ValueError:
        raise BadStorm(f"not a time: {text}") from None
