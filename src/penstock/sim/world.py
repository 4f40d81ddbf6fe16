"""The world: one seed's clock, network, machine, clients and judges.

It keeps the node's life (crash, power cut, restart by an operator who never sleeps) and tells the judges about it.
Machines are held by number; a cluster has more than one of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from penstock.sim.chance import Chance
from penstock.sim.clients.client import Client
from penstock.sim.court import Court
from penstock.sim.disk import Disk, DiskProfile
from penstock.sim.events import ClockSet, Down, LogState, Partition, Up
from penstock.sim.machine import Machine
from penstock.sim.network import Endpoint, Link, Network, NetworkProfile
from penstock.sim.ports import SimNode
from penstock.sim.rules import TopicRules
from penstock.sim.scheduler import MS, Scheduler
from penstock.sim.script import Actor, Script
from penstock.sim.trace import Trace

FIRST = 1
DATA = "/data"
RESTART_US = 500 * MS


class NodeKind(Protocol):
    """How nodes are made in this world, and how far their logs reach."""

    def make(self, disk: Disk, chance: Chance) -> SimNode: ...
    def logs(self, node: SimNode) -> dict[Partition, LogState]: ...


class World:
    """Everything there is, grown from a seed."""

    def __init__(
        self, seed: int, kind: NodeKind, rules: Mapping[str, TopicRules], disk: DiskProfile, network: NetworkProfile
    ) -> None:
        self.chance = Chance(seed)
        self.scheduler = Scheduler()
        self.trace = Trace()
        self.witness = Court(self.scheduler, self.trace, rules)
        self.network = Network(self.scheduler, self.chance.fork("network"), self.trace, network)
        self.machines: dict[int, Machine] = {}
        self.actors: list[Actor] = []
        self.winding_down = False
        self._kind = kind
        self._lives = 0
        self._add_machine(FIRST, disk)

    # ---- what clients and faults use

    @property
    def disk(self) -> Disk:
        """The disk of the first machine."""
        return self.machines[FIRST].disk

    def dial(self, endpoint: Endpoint) -> Link:
        """Connect a client to the node; it learns later whether anybody was there."""
        link = self.network.link(endpoint)
        self.network.later(link.delay_us(), lambda: self.machines[FIRST].accept(link))
        return link

    def act(self, name: str, script: Callable[[Client], Script[Any]]) -> Actor:
        """Let a client begin its script."""
        client = Client(name, self, self.chance.fork(name))
        actor = Actor(name, self.scheduler, script(client))
        self.actors.append(actor)
        return actor

    # ---- the node's life

    def boot(self) -> None:
        """Start the node, unless it runs."""
        machine = self.machines[FIRST]
        if machine.node is None:
            self._lives += 1
            entropy = self.chance.fork(f"node-{self._lives}")
            machine.boot(lambda disk: self._kind.make(disk, entropy))

    def crash(self, down_us: int) -> None:
        """Kill the process, and start it again after a while."""
        self._go_down(lost_power=False, down_us=down_us)

    def power_loss(self, down_us: int) -> None:
        """Cut the power, and start the machine again after a while."""
        self._go_down(lost_power=True, down_us=down_us)

    def shut_down(self) -> None:
        """Stop the node in good order; it is started again when it has stopped."""
        if self.machines[FIRST].running:
            self.machines[FIRST].shut_down()

    def set_clock(self, skew_ms: int) -> None:
        """Set the machine's clock wrong, or right again."""
        clock = self.machines[FIRST].clock
        if clock.skew_ms != skew_ms:
            clock.skew_ms = skew_ms
            self.witness.see(ClockSet(skew_ms))

    def logs(self) -> dict[Partition, LogState]:
        """The logs of the node that serves now; nothing where none does."""
        return self._logs(self.machines[FIRST])

    def _go_down(self, lost_power: bool, down_us: int) -> None:
        machine = self.machines[FIRST]
        if machine.node is None and not lost_power:
            return
        self.witness.see(Down(lost_power, self._logs(machine)))
        machine.power_loss() if lost_power else machine.crash()
        self.scheduler.after(down_us, self.boot)

    def _on_state(self, machine: Machine, state: str) -> None:
        if state == "running":
            self.witness.see(Up(self._logs(machine)))
        elif state in ("stopped", "failed"):
            self.scheduler.after(0, lambda: self._restart(machine))

    def _restart(self, machine: Machine) -> None:
        """The operator looks after a process that ended by itself, unless a fault took it meanwhile."""
        if machine.ended:
            clean = machine.node is not None and machine.node.state == "stopped"
            self.witness.see(Down(False, self._logs(machine), clean))
            machine.reap()
            self.scheduler.after(RESTART_US, self.boot)

    def _logs(self, machine: Machine) -> dict[Partition, LogState]:
        return self._kind.logs(machine.node) if machine.node is not None and machine.served else {}

    def _add_machine(self, number: int, profile: DiskProfile) -> None:
        disk = Disk(self.scheduler, self.chance.fork(f"disk-{number}"), self.trace, profile)
        disk.mount(DATA)
        machine = Machine(number, self.scheduler, self.network, disk, self.trace)
        machine.on_state = lambda state: self._on_state(machine, state)
        self.machines[number] = machine
