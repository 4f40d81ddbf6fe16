"""Outgoing connections of a machine: the `Network` port in the simulated world."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from penstock.core.base.ports import Buffer, WireEvents
from penstock.sim.machine import Machine
from penstock.sim.network import Link

Knock = Callable[["Outgoing", str, int], None]
"""Carries a dial to whoever has that name."""


class Dialing:
    """Dials for the process that runs on a machine."""

    def __init__(self, machine: Machine, knock: Knock) -> None:
        self._machine = machine
        self._knock = knock

    def dial(self, host: str, port: int, events: WireEvents, listener: str = "") -> Outgoing:
        """See `Network.dial`."""
        wire = Outgoing(self._machine, events)
        self._machine.wires[wire] = None
        self._knock(wire, host, port)
        return wire


class Outgoing:
    """The near end of a link that a node has dialled: the core's `Wire`, and the link's `Endpoint`."""

    def __init__(self, machine: Machine, events: WireEvents) -> None:
        self._machine = machine
        self._events: WireEvents | None = events
        self._is_open = False
        self.link: Link | None = None  # None where the name that was dialled is nobody's.

    # ---- what the core calls

    def send(self, parts: Sequence[Buffer]) -> None:
        assert self._is_open, "nothing may be sent before the wire is open"
        assert self.link is not None
        self.link.send(b"".join(parts))

    def close(self) -> None:
        self._machine.wires.pop(self, None)
        self.hang_up()

    def reset(self) -> None:
        if self.link is not None and self.link.client is self:
            self.link.to_server.drop()
        self.close()

    # ---- what the machine calls

    def hang_up(self) -> None:
        """The process hangs up, or is no more; nobody is told at this end, and what it had sent may still arrive."""
        self._events = None
        if self.link is not None and self.link.client is self:
            self.link.close_by_client()

    def read(self, wants: bool) -> None:
        if self.link is not None:
            self.link.client_reads = wants
            self.link.to_client.wake()

    # ---- what the network calls

    def opened(self) -> None:
        """The other side has taken the connection."""
        self._is_open = True
        self._turn(lambda events: events.opened())

    def received(self, data: bytes) -> None:
        self._turn(lambda events: _lend(events, data))

    def gone(self) -> None:
        self._machine.wires.pop(self, None)
        refused = self.link is not None and self.link.refused
        self._turn(lambda events: self._lost(events, refused))

    # ---- inside

    def _turn(self, event: Callable[[WireEvents], None]) -> None:
        if self._events is not None:
            self._machine.turn(lambda _: None if self._events is None else event(self._events))

    def _lost(self, events: WireEvents, refused: bool) -> None:
        self._events = None
        events.lost(refused)


def _lend(events: WireEvents, data: bytes) -> None:
    """Hand bytes over for the time of the call, as a real socket's buffer is."""
    lent = bytearray(data)
    events.received(memoryview(lent))
    lent[:] = bytes(len(lent))
