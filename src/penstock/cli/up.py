"""`penstock up`: checks what could be in the way, writes the settings of each node, and starts them.

Nothing here imports what a node imports: the less is loaded before the node's process starts, the sooner it serves.
"""

import errno
import os
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import NamedTuple

from penstock.cli import node_settings
from penstock.cli.folder import ClusterFolder, NodeFolder
from penstock.cli.node_process import NodeProcess
from penstock.cli.node_settings import HOST, Ports
from penstock.cli.pidfile import Held
from penstock.cli.plain import PORT
from penstock.cli.supervising import Cluster, signals_as_bytes
from penstock.cli.talk import Refused

PORT_MAX = 65_535
CONTROLLER = "CONTROLLER"
META_FILE = "meta.properties"


class Wish(NamedTuple):
    """What was asked for with `--join`."""

    address: str
    port: int | None
    metrics_port: int | None
    settings: dict[str, str]
    restart: bool


def up(
    nodes: int | None,
    data_dir: str,
    port: int | None,
    metrics_port: int | None,
    config: str | None,
    set: list[str],
    restart: bool,
    join: str | None = None,
) -> int:
    """Start or resume the cluster of a folder, or one more node of one, and stay until it is told to stop."""
    given = node_settings.read_settings_file(config) if config else {}
    node_settings.refuse_decided(given, f"in {config}")
    assigned = node_settings.parse_assignments(set)
    node_settings.refuse_decided(assigned, "given with --set")
    signals = signals_as_bytes()
    folder = ClusterFolder(data_dir)
    if join is not None:
        return _join(folder, nodes, Wish(join, port, metrics_port, given | assigned, restart), signals)
    members = _members(folder, nodes)
    with _held(folder), ExitStack() as held:
        for node in members:
            refuse_running(folder, node)
        processes = _prepare(members, port, metrics_port, given | assigned)
        for process in processes:
            if process.ports.has_joined:
                held.enter_context(held_node(process.folder))
        return Cluster(folder, processes, restart).run(signals)


def _join(folder: ClusterFolder, nodes: int | None, wish: Wish, signals: socket.socket) -> int:
    if nodes is not None:
        raise Refused("--join starts one more node, --nodes a whole cluster", "give one of them")
    from penstock.cli.joining import join_cluster

    folder.create()
    try:
        return join_cluster(folder, wish, lambda process: Cluster(folder, [process], wish.restart).run(signals))
    finally:
        folder.take_back()


def _members(folder: ClusterFolder, asked: int | None) -> list[NodeFolder]:
    """The nodes of a folder: the first ones, of which one may have lost its folder, and those that have joined."""
    if asked is not None and asked < 1:
        raise Refused(f"--nodes {asked}: a cluster has at least one node", "choose 1 or more, for example --nodes 3")
    existing = folder.nodes()
    joined = [node for node in existing if node_settings.has_joined(node.text())]
    first = max((node.number for node in existing if node not in joined), default=0)
    if asked is not None and existing and asked not in (first, first + len(joined)):
        raise Refused(
            f"{folder.shown} holds a cluster of {first + len(joined)} node(s), not {asked}",
            "leave --nodes out to resume it, or choose another folder with --data-dir",
        )
    count = first if existing else asked or 1
    return [*(folder.node(number) for number in range(1, count + 1)), *joined]


@contextmanager
def held_node(node: NodeFolder) -> Iterator[None]:
    """A node that has joined is ours to look after."""
    try:
        node.up_file.hold()
    except Held as held:
        raise Refused(f"node {node.number} is being started (process {held.pid})", "wait for it, or stop it") from None
    try:
        yield
    finally:
        node.up_file.release()


@contextmanager
def _held(folder: ClusterFolder) -> Iterator[None]:
    """The folder is there and ours; one that did not exist before and got nothing is gone afterwards."""
    try:
        folder.create()
        try:
            folder.pid_file.hold()
        except Held as held:
            raise Refused(
                f"{folder.shown} is in use by `penstock up` (process {held.pid})",
                f"stop it with `{folder.command('down')}`, or choose another folder with --data-dir",
            ) from None
        yield
    finally:
        folder.pid_file.release()
        folder.take_back()


def _prepare(
    nodes: list[NodeFolder], port: int | None, metrics_port: int | None, given: dict[str, str]
) -> list[NodeProcess]:
    """Settle the ports of all nodes, write their settings files, and make their folders one cluster's."""
    texts = [node.text() for node in nodes]
    ports = _ports(nodes, texts, port, metrics_port)
    for each in ports:
        for number in each.all():
            require_free(number, each.host)
    merged = [_merged(node, text, ports, given) for node, text in zip(nodes, texts, strict=True)]
    if given:
        node_settings.refuse_unusable(merged[0])
    for node, text in zip(nodes, merged, strict=True):
        node.write_settings(text)
    _format(nodes)
    return [NodeProcess(node, each) for node, each in zip(nodes, ports, strict=True)]


def _merged(node: NodeFolder, text: str, ports: list[Ports], given: dict[str, str]) -> str:
    """The settings of a node; one that has joined a cluster of another folder keeps what was decided then."""
    first = [each for each in ports if not each.has_joined]
    own = next(each for each in ports if each.number == node.number)
    if not own.has_joined:
        decided = node_settings.own_settings(first, node.number, node.path)
        return node_settings.merge(text, decided, given, node_settings.local_defaults(len(first)))
    controllers = [f"{HOST}:{each.controller}" for each in first]
    decided = node_settings.joined_settings(own, controllers, CONTROLLER, node.path) if first else {}
    return node_settings.merge(text, decided, given, {})


def _format(nodes: list[NodeFolder]) -> None:
    """Folders that are nobody's yet become nodes of the cluster that the others belong to, or of a new one."""
    unformatted = [node for node in nodes if not os.path.exists(os.path.join(node.path, META_FILE))]
    if not unformatted:
        return
    from penstock.cli.formatting import format_folder, new_id, read_meta

    found = [meta for node in nodes if (meta := read_meta(node.path)) is not None]
    cluster_id = found[0].cluster_id if found else new_id()
    for node in unformatted:
        format_folder(node.path, cluster_id, node.number)


def _ports(nodes: list[NodeFolder], texts: list[str], port: int | None, metrics_port: int | None) -> list[Ports]:
    """The ports that were asked for, else those that the first node had before, else the defaults."""
    if node_settings.has_joined(texts[0]):
        return [_ports_as_before(node, text) for node, text in zip(nodes, texts, strict=True)]
    before = node_settings.ports_of(texts[0])
    if port is None:
        port = before[0] if before else PORT
        metrics_port = metrics_port or (before[1] if before else None)
    metrics_port = metrics_port or port + node_settings.METRICS_PORT_OFFSET
    ports = [
        Ports(node.number, port, metrics_port, has_joined=node_settings.has_joined(text))
        for node, text in zip(nodes, texts, strict=True)
    ]
    for each in ports:
        refuse_impossible(each)
    return ports


def _ports_as_before(node: NodeFolder, text: str) -> Ports:
    ports = node_settings.own_ports(text, node.number)
    if ports is None:
        raise Refused(f"{node.settings_path} does not say where node {node.number} listens", "add its listeners again")
    return ports


def refuse_impossible(ports: Ports) -> None:
    if not all(0 < one <= PORT_MAX for one in ports.all()):
        raise Refused(
            f"a node at port {ports.client} needs the ports {', '.join(map(str, ports.all()))}, which do not all exist",
            f"ports go from 1 to {PORT_MAX}: choose another --port (and --metrics-port)",
        )


def refuse_running(folder: ClusterFolder, node: NodeFolder) -> None:
    if (pid := node.runner()) is not None:
        raise Refused(
            f"node {node.number} is running already (process {pid})", f"stop it with `{folder.command('down')}`"
        )


def require_free(port: int, host: str = HOST) -> None:
    failure = listen_failure(port, host)
    if failure is None:
        return
    if failure.errno != errno.EADDRINUSE:
        raise Refused(f"cannot listen on {host}:{port}: {failure.strerror}", "choose another --port")
    raise Refused(
        f"port {port} on {host} is busy{_listener(port)}",
        "stop what listens there, or choose other ports with --port (and --metrics-port)",
    )


def listen_failure(port: int, host: str) -> OSError | None:
    """Why nobody could listen on a port."""
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as failure:
            return failure
    return None


def _listener(port: int) -> str:
    """Who listens on a port, as far as the system tells us."""
    from penstock.cli.listeners import listener_of

    found = listener_of(port)
    return f": process {found[0]} ({found[1]}) listens there" if found else ""
