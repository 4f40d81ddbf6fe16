"""`penstock up`: checks what could be in the way, writes the settings of each node, and starts them.

Nothing here imports what a node imports: the less is loaded before the node's process starts, the sooner it serves.
"""

import errno
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager

from penstock.cli import node_settings
from penstock.cli.folder import ClusterFolder, NodeFolder
from penstock.cli.node_process import NodeProcess
from penstock.cli.node_settings import HOST, Ports
from penstock.cli.pidfile import Held
from penstock.cli.plain import PORT
from penstock.cli.supervising import Cluster, signals_as_bytes
from penstock.cli.talk import Refused

PORT_MAX = 65_535
META_FILE = "meta.properties"


def up(
    nodes: int | None,
    data_dir: str,
    port: int | None,
    metrics_port: int | None,
    config: str | None,
    set: list[str],
    restart: bool,
) -> int:
    """Start or resume the cluster of a folder and stay until it is told to stop."""
    given = node_settings.read_settings_file(config) if config else {}
    node_settings.refuse_decided(given, f"in {config}")
    assigned = node_settings.parse_assignments(set)
    node_settings.refuse_decided(assigned, "given with --set")
    signals = signals_as_bytes()
    folder = ClusterFolder(data_dir)
    _check_count(folder, nodes)
    count = nodes or len(folder.nodes()) or 1
    with _held(folder):
        for number in range(1, count + 1):
            if (pid := folder.node(number).pid_file.holder()) is not None:
                raise Refused(
                    f"node {number} is running already (process {pid})", f"stop it with `{folder.command('down')}`"
                )
        return Cluster(folder, _prepare(folder, count, port, metrics_port, given | assigned), restart).run(signals)


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


def _check_count(folder: ClusterFolder, nodes: int | None) -> None:
    if nodes is not None and nodes < 1:
        raise Refused(f"--nodes {nodes}: a cluster has at least one node", "choose 1 or more, for example --nodes 3")
    existing = len(folder.nodes())
    if nodes is not None and existing not in (0, nodes):
        raise Refused(
            f"{folder.shown} holds a cluster of {existing} node(s), not {nodes}",
            "leave --nodes out to resume it, or choose another folder with --data-dir",
        )


def _prepare(
    folder: ClusterFolder, count: int, port: int | None, metrics_port: int | None, given: dict[str, str]
) -> list[NodeProcess]:
    """Settle the ports of all nodes, write their settings files, and make their folders one cluster's."""
    nodes = [folder.node(number) for number in range(1, count + 1)]
    texts = [_text_of(node.settings_path) for node in nodes]
    ports = _ports(count, texts[0], port, metrics_port)
    for number in (number for each in ports for number in each.all()):
        _require_free(number)
    merged = [
        node_settings.merge(
            text, node_settings.own_settings(ports, node.number, node.path), given, node_settings.local_defaults(count)
        )
        for node, text in zip(nodes, texts, strict=True)
    ]
    if given:
        node_settings.refuse_unusable(merged[0])
    for node, text in zip(nodes, merged, strict=True):
        os.makedirs(node.path, exist_ok=True)
        with open(node.settings_path, "w", encoding="utf-8") as file:
            file.write(text)
    _format(nodes)
    return [NodeProcess(node, each) for node, each in zip(nodes, ports, strict=True)]


def _text_of(path: str) -> str:
    if not os.path.exists(path):
        return ""
    with open(path, encoding="utf-8") as file:
        return file.read()


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


def _ports(count: int, text: str, port: int | None, metrics_port: int | None) -> list[Ports]:
    """The ports that were asked for, else those that the first node had before, else the defaults."""
    before = node_settings.ports_of(text)
    if port is None:
        port = before[0] if before else PORT
        metrics_port = metrics_port or (before[1] if before else None)
    metrics_port = metrics_port or port + node_settings.METRICS_PORT_OFFSET
    ports = [Ports(number, port, metrics_port) for number in range(1, count + 1)]
    for each in ports:
        if not all(0 < one <= PORT_MAX for one in each.all()):
            raise Refused(
                f"a node at port {each.client} needs the ports {', '.join(map(str, each.all()))}, "
                "which do not all exist",
                f"ports go from 1 to {PORT_MAX}: choose another --port (and --metrics-port)",
            )
    return ports


def _require_free(port: int) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as failure:
            if failure.errno != errno.EADDRINUSE:
                raise Refused(f"cannot listen on {HOST}:{port}: {failure.strerror}", "choose another --port") from None
            raise Refused(
                f"port {port} on {HOST} is busy{_listener(port)}",
                "stop what listens there, or choose other ports with --port (and --metrics-port)",
            ) from None


def _listener(port: int) -> str:
    """Who listens on a port, as far as the system tells us."""
    from penstock.cli.listeners import listener_of

    found = listener_of(port)
    return f": process {found[0]} ({found[1]}) listens there" if found else ""
