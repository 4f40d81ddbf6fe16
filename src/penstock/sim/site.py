"""A site: one machine, and the operator who looks after it. Whatever ends its process, it is started again."""

from __future__ import annotations

from typing import Protocol

from penstock.core.base.ports import Network as NodeNetwork
from penstock.core.node.observing.event_log import Fact
from penstock.sim.chance import Chance
from penstock.sim.disk import Disk
from penstock.sim.events import BlamedDisk, ClockSet, Down, LogState, Noted, Partition, Up, Witness
from penstock.sim.machine import Machine
from penstock.sim.network import Network
from penstock.sim.ports import SimNode
from penstock.sim.runtime import Memory
from penstock.sim.scheduler import MS, Scheduler

RESTART_US = 500 * MS
BLAMES_DISK = "the disk has failed"
"""How a node begins to say why it ended, if that is why."""


class NodeKind(Protocol):
    """How nodes are made in this world, and how far their logs reach."""

    def make(self, place: Place, chance: Chance) -> SimNode: ...
    def logs(self, node: SimNode) -> dict[Partition, LogState]: ...


class Place(Protocol):
    """What a new process finds: its machine's number and boot, its disk, and the way to others."""

    @property
    def number(self) -> int: ...
    @property
    def boot_id(self) -> str: ...
    @property
    def memory(self) -> Memory: ...
    @property
    def disk(self) -> Disk: ...
    @property
    def dialing(self) -> NodeNetwork: ...
    def tell(self, fact: Fact) -> None: ...


class Grounds(Protocol):
    """What a site needs of its world."""

    @property
    def scheduler(self) -> Scheduler: ...
    @property
    def network(self) -> Network: ...
    @property
    def witness(self) -> Witness: ...
    def new_entropy(self) -> Chance: ...


class Site:
    """One machine's life."""

    def __init__(
        self, grounds: Grounds, machine: Machine, dialing: NodeNetwork, kind: NodeKind, is_lonely: bool
    ) -> None:
        self.machine = machine
        self.number = machine.number
        self.dialing = dialing
        self._grounds = grounds
        self._kind = kind
        # Of a power loss others learn by waiting. Where there is only one machine, nothing is to be learnt from that.
        self._is_lonely = is_lonely
        self._is_dark = False
        machine.on_state = self._on_state

    @property
    def scheduler(self) -> Scheduler:
        return self._grounds.scheduler

    @property
    def network(self) -> Network:
        return self._grounds.network

    @property
    def boot_id(self) -> str:
        return self.machine.boot_id

    @property
    def memory(self) -> Memory:
        return self.machine.memory

    @property
    def disk(self) -> Disk:
        return self.machine.disk

    @property
    def node(self) -> SimNode | None:
        """The process, if there is one."""
        return self.machine.node

    def logs(self) -> dict[Partition, LogState]:
        """The logs of the process that serves now; nothing where none does."""
        node = self.machine.node
        return self._kind.logs(node) if node is not None and self.machine.served else {}

    # ---- what happens to it

    def boot(self) -> None:
        """Start the node, unless it runs."""
        self._light()
        if self.machine.node is None:
            entropy = self._grounds.new_entropy()
            self.machine.boot(lambda disk: self._kind.make(self, entropy))

    def crash(self, down_us: int) -> None:
        """Kill the process, and start it again after a while."""
        if self.machine.node is not None:
            self._go_down(lost_power=False, down_us=down_us)

    def power_loss(self, down_us: int) -> None:
        """Cut the power, and start the machine again after a while."""
        self._go_down(lost_power=True, down_us=down_us)

    def remount(self, may_stay_mounted: bool, down_us: int) -> None:
        """Look after a disk that has failed: all is gone that it had not synced. The machine goes on, and the process
        is started again. Where it was not told of the failure, the file system was unmounted for this."""
        volume = self.disk.volume
        self._grounds.witness.see(Down(True, self.logs(), machine=self.number))
        self.machine.remount(is_new=not (may_stay_mounted and volume.has_told))
        volume.recover()
        self.scheduler.after(down_us, self.boot)

    def shut_down(self) -> None:
        """Stop the node in good order; it is started again when it has stopped."""
        if self.machine.running:
            self.machine.shut_down()

    def pause(self) -> None:
        """Stop the process where it is, if there is one."""
        if self.machine.node is not None and not self.machine.paused:
            self.machine.pause()

    def resume(self) -> None:
        """Let the process go on. One that died meanwhile stays dead."""
        if self.machine.paused:
            self.machine.resume()

    def set_clock(self, skew_ms: int) -> None:
        """Set the machine's clock wrong, or right again."""
        clock = self.machine.clock
        if clock.skew_ms != skew_ms:
            clock.skew_ms = skew_ms
            self._grounds.witness.see(ClockSet(skew_ms, self.number))

    def tell(self, fact: Fact) -> None:
        """The process says something to whoever runs it."""
        if fact.level != "info":
            self._grounds.witness.see(Noted(self.number, fact.level, fact.text))

    # ---- inside

    def _go_down(self, lost_power: bool, down_us: int) -> None:
        self._grounds.witness.see(Down(lost_power, self.logs(), machine=self.number))
        if lost_power:
            self._darken()
            self.machine.power_loss()
        else:
            self.machine.crash()
        self.scheduler.after(down_us, self.boot)

    def _darken(self) -> None:
        if not self._is_lonely and not self._is_dark:
            self._is_dark = True
            self.network.darken(self.number)

    def _light(self) -> None:
        if self._is_dark:
            self._is_dark = False
            self.network.relight(self.number)

    def _on_state(self, state: str) -> None:
        if state == "running":
            self._grounds.witness.see(Up(self.logs(), self.number))
        elif state in ("stopped", "failed"):
            self.scheduler.after(0, self._restart)

    def _restart(self) -> None:
        """The operator looks after a process that ended by itself, unless a fault took it meanwhile."""
        if self.machine.ended:
            self._look_at_disk()
            clean = self.machine.node is not None and self.machine.node.state == "stopped"
            self._grounds.witness.see(Down(False, self.logs(), clean, self.number))
            self.machine.reap()
            self.scheduler.after(RESTART_US, self.boot)

    def _look_at_disk(self) -> None:
        why = "" if self.machine.node is None else self.machine.node.failure or ""
        if why.startswith(BLAMES_DISK) and not self.disk.volume.has_failed:
            self._grounds.witness.see(BlamedDisk(self.number, why))
