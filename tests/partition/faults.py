"""What happens to a world: faults, drawn from its seed, within what replication promises to survive."""

from __future__ import annotations

from penstock.sim.chance import Chance
from tests.partition.broker import Broker
from tests.partition.network import CONTROLLER
from tests.partition.world import FAULTS_MS, Shape, World


class Script:
    """Keeps a world busy until its faults are over.

    A replica that lost its power is `doubtful` until it is in every in-sync set again. Power may be lost where at most
    `min.insync.replicas` - 1 are doubtful: with more, what was acknowledged may be gone for good. Who was killed has
    lost nothing, however many they are."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._dice: Chance = world.chance.fork("faults")
        self._end_ms = world.now_ms + FAULTS_MS
        self._doubtful: set[int] = set()
        kinds = (self._crash, self._crash, self._lose_power, self._lose_power, self._stop_someone, self._pause)
        cuts = (self._isolate, self._isolate, self._cut_one, self._cut_off_controller)
        self._faults = (*kinds, *cuts, self._leave_one_in_doubt)
        world.at(self._dice.between(200, 400), self._fault)

    @property
    def _is_over(self) -> bool:
        return self._world.now_ms >= self._end_ms

    def _fault(self) -> None:
        if self._is_over:
            return
        self._dice.pick(self._faults)()
        self._world.counts["faults"] += 1
        self._world.at(self._dice.between(30, 300), self._fault)

    def _someone(self) -> Broker:
        """Leaders are hit more often than chance would have it."""
        world = self._world
        leader = world.controller.partition(self._dice.pick(world.keys)).leader
        if leader in world.brokers and self._dice.happens(0.6):
            return world.brokers[leader]
        return self._dice.pick(list(world.brokers.values()))

    # Stops

    def _refresh_doubts(self) -> None:
        world = self._world
        for broker_id in list(self._doubtful):
            broker = world.brokers[broker_id]
            everywhere = all(broker_id in world.controller.partition(key).isr for key in world.keys)
            is_registered = broker.is_alive and world.controller.cluster.broker(broker_id).epoch == broker.epoch
            if is_registered and everywhere:
                self._doubtful.remove(broker_id)

    def _is_bearable(self, broker: Broker) -> bool:
        self._refresh_doubts()
        return len(self._doubtful | {broker.id}) < self._world.shape.in_sync_min

    def _kill(self, broker: Broker, *, power_lost: bool, down_ms: int | None = None) -> None:
        if self._is_over or not broker.is_alive or (power_lost and not self._is_bearable(broker)):
            return
        if power_lost:
            self._doubtful.add(broker.id)
        self._world.counts["power losses" if power_lost else "crashes"] += 1
        broker.stop(power_lost=power_lost)
        self._restart_later(broker, down_ms)

    def _crash(self) -> None:
        """One process, or now and then all of them."""
        everyone = list(self._world.brokers.values())
        for broker in everyone if self._dice.happens(0.15) else [self._someone()]:
            self._kill(broker, power_lost=False)

    def _lose_power(self) -> None:
        self._kill(self._someone(), power_lost=True)

    def _stop_someone(self) -> None:
        self._stop(self._someone())

    def _stop(self, broker: Broker, down_ms: int | None = None) -> None:
        if broker.is_alive and not self._is_over:
            broker.close()
            self._world.counts["clean stops"] += 1
            self._restart_later(broker, down_ms)

    def _leave_one_in_doubt(self) -> None:
        """Of a leader and one follower, all that is in sync, the follower loses its power and the leader then stops in
        good order. The follower is back first, and must not be taken for one that has everything."""
        world = self._world
        leader = world.controller.partition(self._dice.pick(world.keys)).leader
        others = [broker for broker in world.brokers if broker != leader]
        if leader not in world.brokers or not world.brokers[leader].is_alive:
            return
        follower = self._dice.pick(others)
        near = [leader, follower, CONTROLLER]
        self._cut({frozenset((far, each)) for far in others if far != follower for each in near}, for_ms=900)
        world.at(250, lambda: self._kill(world.brokers[follower], power_lost=True, down_ms=250))
        world.at(450, lambda: self._stop(world.brokers[leader], down_ms=300))

    def _restart_later(self, broker: Broker, down_ms: int | None = None) -> None:
        delay_ms = self._dice.skewed(5, 500) if down_ms is None else down_ms
        self._world.at(delay_ms, lambda: None if broker.is_alive else broker.start())

    # Pauses and cuts

    def _pause(self) -> None:
        self._someone().paused_until_ms = self._world.now_ms + self._dice.skewed(20, 500)
        self._world.counts["pauses"] += 1

    def _isolate(self) -> None:
        """Cut a broker off from all others, and perhaps from the controller; clients still reach it."""
        one = self._someone().id
        others = [other for other in self._world.brokers if other != one]
        if self._dice.happens(0.6):
            others.append(CONTROLLER)
        self._cut({frozenset((one, other)) for other in others})

    def _cut_one(self) -> None:
        one, other = self._someone().id, self._dice.pick(list(self._world.brokers))
        if one != other:
            self._cut({frozenset((one, other))})

    def _cut_off_controller(self) -> None:
        self._cut({frozenset((self._someone().id, CONTROLLER))})

    def _cut(self, links: set[frozenset[int]], for_ms: int | None = None) -> None:
        self._world.network.cut |= links
        self._world.counts["cuts"] += 1
        lasts_ms = self._dice.between(50, 600) if for_ms is None else for_ms
        self._world.at(lasts_ms, lambda: self._mend(links))

    def _mend(self, links: set[frozenset[int]]) -> None:
        self._world.network.cut -= links
        self._world.refresh_images()


def shape_of(seed: int) -> Shape:
    dice = Chance(f"partition-shape-{seed}")
    brokers = dice.pick((3, 3, 3, 4, 5))
    slow_disks = dice.happens(0.5)
    return Shape(
        brokers=brokers,
        in_sync_min=3 if brokers == 5 else 2,
        slow_disks=slow_disks,
        synced=dice.happens(0.3),
        through_wire=dice.happens(0.05),
    )


def play(seed: int) -> World:
    """One history: faults, healing, progress, all processes killed at once, and progress again."""
    world = World(seed, shape_of(seed))
    Script(world)
    world.run_until(world.now_ms + FAULTS_MS)
    world.heal()
    world.demand_progress()
    for broker in world.brokers.values():
        broker.stop(power_lost=False)
    world.heal()
    world.demand_progress()
    return world
