"""What happens to a world: faults, load and changes, drawn from its seed."""

from __future__ import annotations

from penstock.sim.chance import Chance
from tests.raft.node import Node
from tests.raft.world import FAULTS_MS, Shape, World


class Script:
    """Keeps a world busy until its faults are over."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._dice: Chance = world.chance.fork("faults")
        self._struck: set[frozenset[int]] = set()
        faults = [self._crash, self._crash, self._isolate, self._break, self._pause, self._cut_one_way]
        if world.shape.losses:
            faults += 3 * [self._lose_log]
        self._faults = tuple(faults)
        world.on_lead = self._strike_new_leader
        world.at(150, self._load)
        world.at(self._dice.between(300, 600), self._snapshot)
        if not world.shape.stormy:
            world.on_save = self._strike_while_saving
            world.at(self._dice.between(200, 500), self._fault)
        if world.shape.dynamic:
            world.at(400, self._change_voters)

    @property
    def _is_over(self) -> bool:
        return self._world.now_ms >= FAULTS_MS

    def _load(self) -> None:
        if self._is_over:
            return
        for node in self._world.nodes.values():
            self._world.append(node)
        self._world.at(self._dice.between(10, 60), self._load)

    def _fault(self) -> None:
        if self._is_over:
            return
        self._dice.pick(self._faults)()
        self._world.counts["faults"] += 1
        self._world.at(self._dice.between(50, 400), self._fault)

    def _someone(self) -> Node:
        """Leaders are hit more often than chance would have it."""
        leader = self._world.leader()
        if leader is not None and self._dice.happens(0.5):
            return leader
        return self._dice.pick(list(self._world.nodes.values()))

    def _crash(self) -> None:
        """One node, or all at once, with or without their power."""
        power_lost = self._dice.happens(0.7)
        everyone = list(self._world.nodes.values())
        for node in everyone if self._dice.happens(0.2) else [self._someone()]:
            self._stop(node, power_lost=power_lost, save_survives=self._dice.happens(0.3))

    def _stop(self, node: Node, *, power_lost: bool, save_survives: bool) -> None:
        if node.raft is None or self._is_over:
            return
        node.stop(power_lost=power_lost, survivors=self._dice.skewed(0, 3), save_survives=save_survives)
        self._world.counts["power losses" if power_lost else "crashes"] += 1
        self._world.at(self._dice.skewed(5, 500), lambda: self._restart(node))

    def _lose_log(self) -> None:
        """One machine dies, and its log with it; no more of them than leave a majority that remembers everything."""
        node, nodes = self._someone(), self._world.nodes.values()
        lost = {each.id for each in nodes if each.rebuilding is not None} | {node.id}
        voters = set(range(1, self._world.shape.voters + 1))
        if len(voters - lost) <= len(voters) // 2:
            return
        self._stop(node, power_lost=self._dice.happens(0.5), save_survives=True)
        if node.raft is None:
            node.lose_log(election_lost=self._dice.happens(0.4))
            self._world.counts["logs lost"] += 1

    def _strike_while_saving(self, node: Node, delay_ms: int) -> None:
        """Power fails at the worst moment: something is being saved and may have been told already."""
        if not self._is_over and delay_ms > 1 and self._dice.happens(0.3):
            self._world.at(delay_ms - 1, lambda: self._stop(node, power_lost=True, save_survives=False))

    def _strike_new_leader(self, node: Node) -> None:
        """A leader is lost before it could do much: before anybody has its first record, or some of what it had."""
        if not self._is_over and self._dice.happens(0.95 if self._world.shape.stormy else 0.15):
            hop_ms = self._world.shape.latency_ms_max
            early = self._dice.happens(0.6)
            soon_ms = self._dice.between(0, hop_ms) if early else self._dice.between(2 * hop_ms, 4 * hop_ms)
            self._world.at(soon_ms, lambda: self._swap_in(node))
            self._world.counts["faults"] += 1

    def _swap_in(self, node: Node) -> None:
        """Cut one leader off, and let the one before it come back with what it wrote."""
        if self._is_over:
            return
        self._mend(self._struck)
        self._struck = {frozenset((node.id, other)) for other in self._world.nodes if other != node.id}
        links = self._struck
        self._world.cut |= links
        if not self._world.shape.stormy:
            self._world.at(self._dice.between(300, 800), lambda: self._mend(links))

    def _restart(self, node: Node) -> None:
        if node.raft is None:
            node.start()

    def _isolate(self) -> None:
        """Cut some nodes off from all others."""
        nodes = list(self._world.nodes)
        some = {self._someone().id} | {node for node in nodes if self._dice.happens(0.25)}
        links = {frozenset((one, other)) for one in some for other in nodes if other not in some}
        self._world.cut |= links
        self._world.at(self._dice.between(50, 800), lambda: self._mend(links))

    def _cut_one_way(self) -> None:
        one, other = self._someone().id, self._someone().id
        links = {frozenset((one, other))}
        self._world.cut |= links
        self._world.at(self._dice.between(50, 800), lambda: self._mend(links))

    def _mend(self, links: set[frozenset[int]]) -> None:
        self._world.cut -= links

    def _break(self) -> None:
        self._world.break_connections(self._someone().id, self._someone().id)

    def _pause(self) -> None:
        self._someone().paused_until_ms = self._world.now_ms + self._dice.skewed(20, 600)

    def _snapshot(self) -> None:
        if self._is_over:
            return
        for node in self._world.nodes.values():
            if self._dice.happens(0.4) and self._world.now_ms >= node.paused_until_ms:
                node.make_snapshot()
        self._world.at(self._dice.between(150, 500), self._snapshot)

    def _change_voters(self) -> None:
        if self._is_over:
            return
        for _ in range(self._dice.pick((1, 1, 3))):
            self._world.change_voters(self._dice.pick(list(self._world.nodes)))
        self._world.at(self._dice.between(10, 120), self._change_voters)


def shape_of(seed: int) -> Shape:
    dice = Chance(f"shape-{seed}")
    stormy = dice.happens(0.25)
    return Shape(
        voters=3 if stormy else dice.pick((3, 3, 5)),
        dynamic=not stormy and dice.happens(0.6),
        fetch_bytes_max=1 if stormy else dice.pick((1, 600)),
        latency_ms_max=dice.pick((3, 15)),
        stormy=stormy,
    )


def losing(seed: int) -> Shape:
    """Voters that stay the same, and now and then one of their logs is lost."""
    dice = Chance(f"losing-{seed}")
    voters, latency_ms_max = dice.pick((3, 5, 5)), dice.pick((3, 15))
    return Shape(voters, dynamic=False, fetch_bytes_max=dice.pick((1, 600)), latency_ms_max=latency_ms_max, losses=True)


def play_losing(seed: int) -> World:
    return play(seed, shape=losing(seed))


def play(seed: int, *, through_wire: bool = False, shape: Shape | None = None) -> World:
    """One history: faults, healing, progress, power loss of everybody, and progress again."""
    shape = shape_of(seed) if shape is None else shape
    world = World(seed, shape, through_wire=through_wire)
    Script(world)
    world.run_until(FAULTS_MS)
    world.heal()
    world.demand_progress()
    for node in world.nodes.values():
        node.stop(power_lost=True, survivors=0, save_survives=False)
    world.heal()
    world.demand_progress()
    return world
