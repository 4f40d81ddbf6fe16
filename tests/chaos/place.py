"""Where the nodes of a run live: on loopback, or in a world of their own with links that can be cut and small disks.

The world of its own is a handful of Linux namespaces that any account may make on most systems. Everything in it, the
processes too, is gone when the process that entered it ends, however it ends.
"""

from __future__ import annotations

import shutil
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from tests.kafka_peer import free_ports

_NAMESPACES = ("--user", "--map-root-user", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc")
UNSHARE = ("unshare", *_NAMESPACES)

LOOPBACK = "127.0.0.1"

DISK_BYTES = 96 << 20
_BALLAST_PIECE_BYTES = 1 << 20
_NOBODY = "02:00:00:00:00:ff"


class Place(Protocol):
    """Addresses and folders of nodes 1, 2, ... and what can go wrong around them."""

    root: Path
    """For what belongs to the run, not to a node; there is always room."""

    def address(self, number: int) -> tuple[str, int, int]:
        """The host, the port for clients and the port for controllers."""

    def folder(self, number: int) -> Path: ...

    def command(self, number: int) -> list[str]:
        """What stands before a node's command so that it runs where it lives."""

    def close(self) -> None: ...


class Loopback:
    """All nodes on this machine's loopback: processes can be hurt, links and disks cannot."""

    def __init__(self, root: Path, nodes: int) -> None:
        self.root = root
        self._ports = free_ports(2 * nodes)

    def address(self, number: int) -> tuple[str, int, int]:
        client, controller = self._ports[2 * number - 2 : 2 * number]
        return LOOPBACK, client, controller

    def folder(self, number: int) -> Path:
        return self.root / f"node-{number}"

    def command(self, number: int) -> list[str]:
        return []

    def close(self) -> None:
        """The folder is its owner's."""


class OwnWorld:
    """Each node in a network namespace at a bridge, with a disk of its own; only inside of `unshare`."""

    def __init__(self, root: Path, nodes: int) -> None:
        self.root = root
        self._nodes = nodes
        system("mount -t tmpfs tmpfs /run")
        system("ip link set lo up")
        system("ip link add switch type bridge")
        system("ip address add 10.77.0.254/24 dev switch")
        system("ip link set switch up")
        for number in range(1, nodes + 1):
            self._connect(number)
            self._mount(number)

    def address(self, number: int) -> tuple[str, int, int]:
        return f"10.77.0.{number}", 9092, 9093

    def folder(self, number: int) -> Path:
        return self.root / f"disk-{number}" / "data"

    def command(self, number: int) -> list[str]:
        return ["nsenter", f"--net=/run/netns/node-{number}"]

    def cut_off(self, number: int) -> None:
        """Nothing reaches the node and nothing leaves it; nobody is told."""
        system(f"ip link set plug-{number} nomaster")

    def plug_in(self, number: int) -> None:
        system(f"ip link set plug-{number} master switch")

    def cut(self, sender: int, receiver: int) -> None:
        """What one node sends to another goes to a card that does not exist."""
        host = self.address(receiver)[0]
        system(f"ip -n node-{sender} neighbour replace {host} lladdr {_NOBODY} nud permanent dev eth0")

    def mend(self, sender: int, receiver: int) -> None:
        system(f"ip -n node-{sender} neighbour delete {self.address(receiver)[0]} dev eth0")

    def fill_disk(self, number: int) -> None:
        with self._ballast(number).open("wb", buffering=0) as ballast, suppress(OSError):
            while ballast.write(bytes(_BALLAST_PIECE_BYTES)) == _BALLAST_PIECE_BYTES:
                pass
        with self._ballast(number).open("ab", buffering=0) as ballast, suppress(OSError):
            while ballast.write(b"\0"):
                pass

    def free_disk(self, number: int) -> None:
        self._ballast(number).unlink()

    def close(self) -> None:
        """Take the disks out of the folder, so that it can be removed. A process that has just died may hold one."""
        for number in range(1, self._nodes + 1):
            system(f"umount --lazy {self.root / f'disk-{number}'}")

    def _connect(self, number: int) -> None:
        name = f"node-{number}"
        system(f"ip netns add {name}")
        system(f"ip link add plug-{number} type veth peer name eth0 netns {name}")
        system(f"ip link set plug-{number} master switch up")
        system(f"ip -n {name} address add {self.address(number)[0]}/24 dev eth0")
        system(f"ip -n {name} link set eth0 up")
        system(f"ip -n {name} link set lo up")

    def _mount(self, number: int) -> None:
        disk = self.root / f"disk-{number}"
        disk.mkdir()
        system(f"mount -t tmpfs -o size={DISK_BYTES} tmpfs {disk}")

    def _ballast(self, number: int) -> Path:
        return self.root / f"disk-{number}" / "ballast"


def can_have_own_world() -> bool:
    """Whether this account may make namespaces, and the tools for it are installed."""
    if any(shutil.which(tool) is None for tool in ("unshare", "nsenter", "ip", "mount")):
        return False
    probe = "mount -t tmpfs tmpfs /run && ip link add probe type bridge && ip netns add probe"
    return subprocess.run([*UNSHARE, "sh", "-c", probe], capture_output=True, check=False).returncode == 0


def system(command: str) -> None:
    """Run one of the system's commands, which must succeed."""
    done = subprocess.run(command.split(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}: {done.stderr}"
