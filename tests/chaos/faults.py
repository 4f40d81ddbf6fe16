"""The faults of a run: drawn from a seed, told as text, and done to a cluster.

One fault at a time, and never to more nodes than the cluster can do without, but for `blackout`, which kills them all,
and `rolling restart`, which takes them one after the other.
"""

from __future__ import annotations

import random
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from tests.chaos.cluster import ChaosCluster
from tests.chaos.place import OwnWorld

TOPIC = "chaos"


class Fault(NamedTuple):
    """What happens to whom, and how long it is held. Nodes are started in the order in which they stand here."""

    kind: str
    victims: tuple[int, ...]
    seconds: float

    def __str__(self) -> str:
        return f"{self.kind} {'-'.join(map(str, self.victims))} for {self.seconds:.1f} s"


# A fault begins when it is entered and is over when it is left; in between it is held.
Play = Callable[[ChaosCluster, tuple[int, ...]], Iterator[None]]


def _kill(cluster: ChaosCluster, victims: tuple[int, ...]) -> Iterator[None]:
    for number in victims:
        cluster.nodes[number].kill()
    yield
    cluster.start(victims)


def _pause(cluster: ChaosCluster, victims: tuple[int, ...]) -> Iterator[None]:
    for number in victims:
        cluster.nodes[number].signal(signal.SIGSTOP)
    yield
    for number in victims:
        cluster.nodes[number].signal(signal.SIGCONT)


def _rolling_restart(cluster: ChaosCluster, victims: tuple[int, ...]) -> Iterator[None]:
    for number in victims:
        cluster.stop([number])
        cluster.start([number])
        cluster.wait_healed(TOPIC)
    yield


def _cut_off(cluster: ChaosCluster, victims: tuple[int, ...]) -> Iterator[None]:
    world = _own_world(cluster)
    for number in victims:
        world.cut_off(number)
    yield
    for number in victims:
        world.plug_in(number)


def _cut_link(cluster: ChaosCluster, victims: tuple[int, ...]) -> Iterator[None]:
    world, (one, other) = _own_world(cluster), victims
    world.cut(one, other)
    world.cut(other, one)
    yield
    world.mend(one, other)
    world.mend(other, one)


def _cut_one_way(cluster: ChaosCluster, victims: tuple[int, ...]) -> Iterator[None]:
    world, (sender, receiver) = _own_world(cluster), victims
    world.cut(sender, receiver)
    yield
    world.mend(sender, receiver)


def _full_disk(cluster: ChaosCluster, victims: tuple[int, ...]) -> Iterator[None]:
    world = _own_world(cluster)
    for number in victims:
        world.fill_disk(number)
    yield
    for number in victims:
        world.free_disk(number)


class _Kind(NamedTuple):
    play: Play
    victims: int
    seconds_min: float
    seconds_max: float
    needs_own_world: bool = False


_EVERYBODY = 0
KINDS = {
    "kill": _Kind(_kill, 1, 0.0, 3.0),
    "pause": _Kind(_pause, 1, 0.5, 6.0),
    "rolling restart": _Kind(_rolling_restart, _EVERYBODY, 0.0, 0.0),
    "blackout": _Kind(_kill, _EVERYBODY, 0.0, 0.5),
    "cut off": _Kind(_cut_off, 1, 0.5, 6.0, needs_own_world=True),
    "cut link": _Kind(_cut_link, 2, 1.0, 6.0, needs_own_world=True),
    "cut one way": _Kind(_cut_one_way, 2, 1.0, 6.0, needs_own_world=True),
    "full disk": _Kind(_full_disk, 1, 1.0, 4.0, needs_own_world=True),
}


def draw(seed: int, nodes: int, count: int, has_own_world: bool) -> list[Fault]:
    """A schedule that has every kind before it has one twice; the same seed draws the same one."""
    chance = random.Random(seed)
    kinds = [name for name, kind in KINDS.items() if has_own_world or not kind.needs_own_world]
    faults: list[Fault] = []
    while len(faults) < count:
        chance.shuffle(kinds)
        faults += [_draw_one(chance, name, nodes) for name in kinds]
    return faults[:count]


def _draw_one(chance: random.Random, name: str, nodes: int) -> Fault:
    kind = KINDS[name]
    spare = (nodes - 1) // 2
    count = nodes if kind.victims is _EVERYBODY else kind.victims
    if count == 1:
        # Replicas are three of the nodes: only where there are spare ones may two be hit, and seldom.
        count = chance.choice([1, 1, 1, min(2, spare)])
    victims = tuple(chance.sample(range(1, nodes + 1), count))
    return Fault(name, victims, round(chance.uniform(kind.seconds_min, kind.seconds_max), 1))


@contextmanager
def happening(cluster: ChaosCluster, fault: Fault) -> Iterator[None]:
    """The fault, from its beginning to its end; what the body does happens while it lasts."""
    yield from KINDS[fault.kind].play(cluster, fault.victims)


def hold(seconds: float) -> None:
    """Let a fault last: the time is part of the fault, nothing is waited for."""
    threading.Event().wait(seconds)


def _own_world(cluster: ChaosCluster) -> OwnWorld:
    assert isinstance(cluster.place, OwnWorld), "links and disks are hurt in a world of their own only"
    return cluster.place
