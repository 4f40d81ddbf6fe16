"""A client that means harm: again and again it tries one thing out of a table (`hostile_acts`), and hopes that others
suffer. What it is granted that must be refused, it tells."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeVar

from penstock.core.wire.schema import Request, Response
from penstock.sim.clients.client import Client, Connection, Disconnected
from penstock.sim.events import Attempted, Granted, Partition
from penstock.sim.machine import BROKER_PORT
from penstock.sim.network import Link
from penstock.sim.scheduler import MS, SECOND
from penstock.sim.script import Script, Sleep

R = TypeVar("R", bound=Response)

HOST: Final = "10.6.6.6"
"""Where it comes from: nodes may tell it from others by that, and by nothing else."""
REST_US_MAX: Final = 4 * SECOND


class Bare:
    """A connection without manners: it carries any bytes, and hears nothing."""

    def __init__(self, link: Callable[[Bare], Link]) -> None:
        self.is_gone = False
        self._link = link(self)

    def received(self, data: bytes) -> None:
        """Whatever is said, nobody listens."""

    def gone(self) -> None:
        self.is_gone = True

    def send(self, data: bytes) -> None:
        if not self.is_gone:
            self._link.send(data)

    def close(self) -> None:
        if not self.is_gone:
            self.is_gone = True
            self._link.close_by_client()


class Hostile:
    """One such client, and what it knows."""

    def __init__(
        self,
        client: Client,
        machines: Sequence[int],
        partitions: Sequence[Partition],
        topic_ids: Mapping[str, bytes],
        acts: Mapping[str, Act],
        is_over: Callable[[], bool],
    ) -> None:
        self.client = client
        self.chance = client.chance
        self.partitions = partitions
        self.topic_ids = topic_ids
        self.machines = machines
        self._acts = acts
        self._is_over = is_over

    def script(self) -> Script[None]:
        """Try one thing after the other until it is over."""
        while not self._is_over():
            name = self.chance.pick(list(self._acts))
            self.client.world.witness.see(Attempted(self.client.name, name))
            try:
                yield from self._acts[name](self)
            except Disconnected:
                self.client.disconnect()
            yield Sleep(self.chance.skewed(1 * MS, REST_US_MAX))
        self.client.disconnect()

    def any_machine(self) -> int:
        return self.chance.pick(self.machines)

    def bare(self, port: int = BROKER_PORT, number: int | None = None) -> Bare:
        """Dial a machine, or any."""
        number = self.any_machine() if number is None else number
        return Bare(lambda endpoint: self.client.world.dial(endpoint, number, port, HOST))

    def ask(self, request: Request, response: type[R], port: int = BROKER_PORT) -> Script[R]:
        """Ask any machine, in good order but for what is asked."""
        connection = Connection(self.client.name, self.client.world, self.chance.pick(self.machines), port, HOST)
        try:
            yield connection.ready
            reply: R = yield connection.ask(request, response)
        finally:
            connection.close()
        return reply

    def granted(self, what: str) -> None:
        """Somebody took what nobody may take."""
        self.client.world.witness.see(Granted(self.client.name, what))


Act = Callable[[Hostile], Script[None]]
