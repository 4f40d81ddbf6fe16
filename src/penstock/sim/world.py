"""The world: one seed's clock, network, machines, clients and judges."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeVar

from penstock.sim.chance import Chance
from penstock.sim.clients.client import Client
from penstock.sim.clients.routed import RoutedClient
from penstock.sim.dialing import Dialing, Outgoing
from penstock.sim.disk import Disk, DiskProfile
from penstock.sim.events import Witness
from penstock.sim.machine import BROKER_PORT, CLIENT_HOST, Machine
from penstock.sim.network import Endpoint, Link, Network, NetworkProfile
from penstock.sim.paths import CLIENTS
from penstock.sim.scheduler import Scheduler
from penstock.sim.script import Actor, Script
from penstock.sim.site import NodeKind, Site
from penstock.sim.trace import Trace

W = TypeVar("W", bound=Witness)

FIRST = 1
DATA = "/data"
HOST = "node-"


def host_of(number: int) -> str:
    """The name by which others find a machine."""
    return f"{HOST}{number}"


class World(Generic[W]):
    """Everything there is, grown from a seed. Machines have numbers from 1; whoever judges them is given."""

    def __init__(
        self,
        seed: int,
        kind: NodeKind,
        judge: Callable[[Scheduler, Trace], W],
        disk: DiskProfile,
        network: NetworkProfile,
        machines: int = 1,
    ) -> None:
        self.chance = Chance(seed)
        self.scheduler = Scheduler()
        self.trace = Trace()
        self.witness = judge(self.scheduler, self.trace)
        self.network = Network(self.scheduler, self.chance.fork("network"), self.trace, network)
        self.actors: list[Actor] = []
        self.winding_down = False
        self._lives = 0
        self.sites = {
            number: self._make_site(number, kind, disk, is_lonely=machines == 1)
            for number in range(FIRST, FIRST + machines)
        }

    @property
    def first(self) -> Site:
        """The first machine, or the only one."""
        return self.sites[FIRST]

    # ---- what clients use

    def dial(self, endpoint: Endpoint, number: int = FIRST, port: int = BROKER_PORT, host: str = CLIENT_HOST) -> Link:
        """Connect a client to a machine; it learns later whether anybody was there."""
        link = self.network.link(endpoint, (CLIENTS, number))
        arrive = _unless_gone(link, lambda: self.sites[number].machine.accept(link, port, host))
        self.network.carry(link.way, link.delay_us(link.way), arrive)
        return link

    def act(self, name: str, script: Callable[[Client], Script[Any]]) -> Actor:
        """Let a client begin its script."""
        client = self._make_client(name)
        actor = Actor(name, self.scheduler, script(client))
        self.actors.append(actor)
        return actor

    def _make_client(self, name: str) -> Client:
        chance = self.chance.fork(name)
        return Client(name, self, chance) if len(self.sites) == 1 else RoutedClient(name, self, chance, [*self.sites])

    # ---- what machines use

    def new_entropy(self) -> Chance:
        """Dice for a new process."""
        self._lives += 1
        return self.chance.fork(f"node-{self._lives}")

    def boot(self, numbers: Iterable[int] | None = None) -> None:
        """Start machines: those, or all of them."""
        for number in self.sites if numbers is None else numbers:
            self.sites[number].boot()

    def _make_site(self, number: int, kind: NodeKind, profile: DiskProfile, is_lonely: bool) -> Site:
        disk = Disk(self.scheduler, self.chance.fork(f"disk-{number}"), self.trace, profile)
        disk.mount(DATA)
        machine = Machine(number, self.scheduler, self.network, disk, self.trace)
        dialing = Dialing(machine, lambda wire, host, port: self._knock(number, wire, host, port))
        return Site(self, machine, dialing, kind, is_lonely)

    def _knock(self, origin: int, wire: Outgoing, host: str, port: int) -> None:
        """A machine dials: the other one hears of it, and then this one hears what it said."""
        number = int(host.removeprefix(HOST)) if host.removeprefix(HOST).isdigit() else CLIENTS
        link = wire.link = self.network.link(wire, (origin, number))
        if number not in self.sites:
            self.network.later(link.delay_us(link.way), link.end_client)
            return
        arrive = _unless_gone(link, lambda: self._arrive(link, wire, port))
        self.network.carry(link.way, link.delay_us(link.way), arrive)

    def _arrive(self, link: Link, wire: Outgoing, port: int) -> None:
        origin, number = link.way
        if self.sites[number].machine.accept(link, port, host_of(origin)):
            opened = _unless_gone(link, wire.opened)
            self.network.carry(link.back, link.delay_us(link.back), opened)


def _unless_gone(link: Link, action: Callable[[], object]) -> Callable[[], None]:
    """Nobody is connected who has hung up meanwhile."""

    def act() -> None:
        if link.client is not None:
            action()

    return act
