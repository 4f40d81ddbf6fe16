"""The ports of `penstock up`: those that were asked for, those of before, or free ones; and whether they are free."""

import errno
import os
import socket
import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Self

from penstock.cli import node_settings
from penstock.cli.folder import NodeFolder
from penstock.cli.node_settings import HOST, LOOPBACK, METRICS_PORT_OFFSET, Ports, Reach
from penstock.cli.plain import PORT
from penstock.cli.talk import Misused, Refused

PORT_MAX = 65_535
ANY_PORT = 0
# Below these are services that everybody knows, above them the ports that systems give to connections.
_ANY_FROM, _ANY_TO = 12_000, 28_000
_TRIES_MAX = 200


class HeldPorts:
    """Ports that nobody else who asks for any free ones is given meanwhile."""

    def __init__(self) -> None:
        self._sockets = ExitStack()

    def take(self, ports: Sequence[int], host: str) -> bool:
        """All of them, if nobody has any."""
        with ExitStack() as taken:
            for port in ports:
                holder = taken.enter_context(_socket(host))
                try:
                    holder.bind((host, port))
                except OSError:
                    return False
                # On Linux a node may bind beside us from now on. Elsewhere it may not, and whoever comes first has it.
                holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if sys.platform == "linux":
                self._sockets.enter_context(taken.pop_all())
        return True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._sockets.close()


def free_base(numbers: Sequence[int], metrics_port: int | None, reach: Reach, held: HeldPorts) -> int:
    """A port from which all that nodes of these numbers need follow, and are free."""
    for _ in range(_TRIES_MAX):
        base = _ANY_FROM + int.from_bytes(os.urandom(4)) % (_ANY_TO - _ANY_FROM)
        members = [Ports(number, base, metrics_port or base + METRICS_PORT_OFFSET, reach=reach) for number in numbers]
        if held.take([port for each in members for port in each.all()], reach.host):
            return base
    raise Refused("no free ports were found", "name one with --port")


def settle_ports(
    nodes: list[NodeFolder],
    texts: list[str],
    asked: tuple[int | None, int | None],
    reach: Reach | None,
    held: HeldPorts,
) -> list[Ports]:
    """The ports that were asked for, else those that the first node had before, else the defaults."""
    if node_settings.has_joined(texts[0]):
        return [_as_before(node, text) for node, text in zip(nodes, texts, strict=True)]
    port, metrics_port = asked
    reach = reach or node_settings.reach_of(texts[0]) or LOOPBACK
    before = node_settings.ports_of(texts[0])
    if port is None:
        port = before[0] if before else PORT
        metrics_port = metrics_port or (before[1] if before else None)
    if port == ANY_PORT:
        port = free_base([node.number for node in nodes], metrics_port, reach, held)
    metrics_port = metrics_port or port + METRICS_PORT_OFFSET
    ports = [
        Ports(node.number, port, metrics_port, has_joined=node_settings.has_joined(text), reach=reach)
        for node, text in zip(nodes, texts, strict=True)
    ]
    for each in ports:
        refuse_impossible(each)
    _refuse_shared(ports)
    return ports


def _refuse_shared(ports: list[Ports]) -> None:
    """A port that two listeners would need, of one node or of several."""
    needed = [(port, each.number) for each in ports for port in each.all()]
    counts = Counter(port for port, _ in needed)
    if shared := [(port, number) for port, number in needed if counts[port] > 1]:
        port = shared[0][0]
        nodes = sorted({number for other, number in shared if other == port})
        whose = f"node {nodes[0]}" if len(nodes) == 1 else f"nodes {' and '.join(map(str, nodes))}"
        raise Misused(f"port {port} would be needed twice, by {whose}", "choose another --metrics-port")


def _as_before(node: NodeFolder, text: str) -> Ports:
    ports = node_settings.own_ports(text, node.number)
    if ports is None:
        raise Refused(f"{node.settings_path} does not say where node {node.number} listens", "add its listeners again")
    return ports


def refuse_impossible(ports: Ports) -> None:
    if not all(0 < one <= PORT_MAX for one in ports.all()):
        raise Misused(
            f"a node at port {ports.client} needs the ports {', '.join(map(str, ports.all()))}, which do not all exist",
            f"ports go from 1 to {PORT_MAX}: choose another --port (and --metrics-port)",
        )


def require_free(port: int, host: str = HOST) -> None:
    failure = listen_failure(port, host)
    if failure is None:
        return
    if isinstance(failure, socket.gaierror) or failure.errno == errno.EADDRNOTAVAIL:
        raise Refused(f"{host} is no address of this machine", "choose one of its own with --host; 0.0.0.0 is all")
    if failure.errno != errno.EADDRINUSE:
        raise Refused(f"cannot listen on {host}:{port}: {failure.strerror}", "choose another --port")
    raise Refused(
        f"port {port} on {host} is busy{listener_text(port)}",
        "stop what listens there, or choose other ports with --port (and --metrics-port)",
    )


def listen_failure(port: int, host: str) -> OSError | None:
    """Why nobody could listen on a port."""
    with _socket(host) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as failure:
            return failure
    return None


def free_port_after(port: int, host: str) -> int | None:
    """The next one on which somebody could listen."""
    following = range(port + 1, min(port + _TRIES_MAX, PORT_MAX))
    return next((each for each in following if listen_failure(each, host) is None), None)


def _socket(host: str) -> socket.socket:
    return socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)


def listener_text(port: int) -> str:
    """Who listens on a port, as far as the system tells us."""
    from penstock.cli.listeners import listener_of

    found = listener_of(port)
    return f": process {found[0]} ({found[1]}) listens there" if found else ""
