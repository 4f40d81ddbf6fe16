"""`penstock up`: checks what could be in the way, writes the settings of each node, and starts them.

Nothing here imports what a node imports: the less is loaded before the node's process starts, the sooner it serves.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from penstock.cli import node_settings
from penstock.cli.choosing_ports import HeldPorts, require_free, settle_ports
from penstock.cli.folder import ClusterFolder, NodeFolder
from penstock.cli.node_process import NodeProcess
from penstock.cli.node_settings import METRICS_HOST_KEY, Ports, Reach
from penstock.cli.pidfile import Held
from penstock.cli.plain import CONSOLE_PORT, DATA_DIR, REGISTRY_PORT
from penstock.cli.service_process import ServiceProcess, ServiceWish, refuse_busy
from penstock.cli.supervising import Cluster, Terminal, signals_as_bytes
from penstock.cli.talk import Misused, Refused, advice, say

if TYPE_CHECKING:
    from penstock.cli.securing import Keys
    from penstock.shell.sealed_paths import Sealing

CONTROLLER = "CONTROLLER"
LOG_FORMAT_KEY = "penstock.log.format"
META_FILE = "meta.properties"


class Asked(NamedTuple):
    """The options as they were given."""

    nodes: int | None
    data_dir: str
    port: int | None
    metrics_port: int | None
    host: str | None
    advertised_host: str | None
    config: str | None
    set: list[str]
    restart: bool
    detach: bool
    ephemeral: bool
    secure: bool
    registry: bool
    registry_port: int | None
    console: bool
    console_port: int | None
    join: str | None
    log_format: str | None
    output: str

    @property
    def reach(self) -> Reach | None:
        """Where the nodes are to be reached, if anything was said about that."""
        if self.host is None and self.advertised_host is None:
            return None
        return Reach(self.host or node_settings.HOST, self.advertised_host)

    def folder(self) -> ClusterFolder:
        if self.ephemeral and self.data_dir == DATA_DIR:
            return ClusterFolder.temporary()
        return ClusterFolder(self.data_dir)

    def settings(self) -> dict[str, str]:
        """Those of the file and of the command; what follows from other options is not taken."""
        given = node_settings.read_settings_file(self.config) if self.config else {}
        node_settings.refuse_decided(given, f"in {self.config}")
        assigned = node_settings.parse_assignments(self.set)
        node_settings.refuse_decided(assigned, "given with --set")
        # Whoever opens the nodes to others wants to see from there how they are.
        opened = {METRICS_HOST_KEY: self.host} if self.host is not None else {}
        said = {} if self.log_format is None else {LOG_FORMAT_KEY: self.log_format}
        return opened | given | assigned | said


def up(**options: Any) -> int:
    """Start or resume the cluster of a folder, or one more node of one, and stay until it is told to stop, or leave
    that to a process in the background."""
    asked = Asked(**options)
    if asked.detach:
        from penstock.cli.detaching import detached

        return detached(lambda daemon: _up(asked, daemon))
    return _up(asked, Terminal())


def _up(asked: Asked, terminal: Terminal) -> int:
    given = asked.settings()
    signals = signals_as_bytes()
    folder = asked.folder()
    if asked.join is not None:
        return _join(folder, asked, given, terminal, signals)
    members = _members(folder, asked.nodes)
    if asked.secure and not folder.is_secure and any(node.text() for node in members):
        raise Refused(
            f"{folder.shown} holds a cluster that is not secure", "choose another --data-dir, or change its settings"
        )
    if asked.ephemeral and folder.nodes():
        raise Refused(f"{folder.shown} holds a cluster, and --ephemeral deletes all", "choose another --data-dir")
    with _held(folder, asked.ephemeral), ExitStack() as held:
        for node in members:
            refuse_running(folder, node)
        _tell_of_former(folder, members)
        ports = held.enter_context(HeldPorts())
        processes = _prepare(folder, members, asked, given, ports)
        for process in processes:
            if process.ports.has_joined:
                held.enter_context(held_node(process.folder))
        beside = [each for each in (_registry(folder, asked), _console(folder, asked)) if each is not None]
        return Cluster(folder, processes, asked.restart, asked.output, terminal, beside).run(signals)


def _registry(folder: ClusterFolder, asked: Asked) -> ServiceProcess | None:
    """One for the cluster, if somebody asked for it; in a secure one it asks who it is, too."""
    if not asked.registry and asked.registry_port is None:
        return None
    host = asked.host or node_settings.HOST
    port = asked.registry_port or REGISTRY_PORT
    refuse_busy(port, host, "--registry-port")
    options: tuple[str, ...] = ()
    if folder.is_secure:
        at = folder.security_path
        keys = ("--tls-cert", f"{at}/node.pem", "--tls-key", f"{at}/node.pem", "--tls-ca", f"{at}/ca.pem")
        options = ("--command-config", f"{at}/client.properties", "--users", "cluster", "--authorize", *keys)
    return ServiceProcess(ServiceWish("registry", "schemas are", port, host, options))


def _console(folder: ClusterFolder, asked: Asked) -> ServiceProcess | None:
    """On loopback, wherever the nodes are reached: who wants it elsewhere starts one with a certificate of his own."""
    if not asked.console and asked.console_port is None:
        return None
    port = asked.console_port or CONSOLE_PORT
    refuse_busy(port, node_settings.HOST, "--console-port")
    options: tuple[str, ...] = ()
    if asked.registry or asked.registry_port is not None:
        scheme = "https" if folder.is_secure else "http"
        options = (
            "--registry",
            f"{scheme}://{asked.host or node_settings.HOST}:{asked.registry_port or REGISTRY_PORT}",
        )
    if folder.is_secure:
        at = folder.security_path
        keys = ("--tls-cert", f"{at}/node.pem", "--tls-key", f"{at}/node.pem")
        options = (*options, "--command-config", f"{at}/client.properties", *keys)
    return ServiceProcess(ServiceWish("console", "the console is", port, node_settings.HOST, options))


def _join(
    folder: ClusterFolder, asked: Asked, given: dict[str, str], terminal: Terminal, signals: socket.socket
) -> int:
    if asked.registry or asked.registry_port is not None:
        raise Misused("--registry is for a whole cluster", "start one beside it: penstock registry")
    if asked.console or asked.console_port is not None:
        raise Misused("--console is for a whole cluster", "start one beside it: penstock console")
    if asked.nodes is not None:
        raise Misused("--join starts one more node, --nodes a whole cluster", "give one of them")
    if asked.secure or folder.is_secure:
        raise Refused("--join is for clusters that are not secure", "start another node by its own: penstock node")
    if asked.ephemeral:
        raise Misused(
            "--ephemeral is for a whole cluster", "leave it out: `penstock cluster decommission` lets a node go"
        )
    from penstock.cli.joining import Wish, join_cluster

    wish = Wish(asked.join or "", asked.port, asked.metrics_port, asked.reach, given)
    folder.create()

    def run(process: NodeProcess) -> int:
        return Cluster(folder, [process], asked.restart, asked.output, terminal).run(signals)

    try:
        return join_cluster(folder, wish, run)
    finally:
        folder.take_back()


def _members(folder: ClusterFolder, asked: int | None) -> list[NodeFolder]:
    """The nodes of a folder: the first ones, of which one may have lost its folder, and those that have joined."""
    if asked is not None and asked < 1:
        raise Misused(f"--nodes {asked}: a cluster has at least one node", "choose 1 or more, for example --nodes 3")
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


def _tell_of_former(folder: ClusterFolder, members: list[NodeFolder]) -> None:
    """Nodes that were decommissioned stay away, although the others are told where they listened."""
    former = [node for node in members if node.is_former]
    for node in former:
        say(f"node {node.number} was decommissioned, and is not started")
    if len(former) == len(members):
        raise Refused(
            f"every node of {folder.shown} was decommissioned", f"begin anew: `{folder.command('reset')} --yes`"
        )


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
def _held(folder: ClusterFolder, ephemeral: bool) -> Iterator[None]:
    """The folder is there and ours; one that did not exist before and got nothing, or is to keep nothing, is gone
    afterwards."""
    try:
        folder.create()
        try:
            folder.pid_file.hold()
        except Held as held:
            raise Refused(
                f"{folder.shown} is in use by `penstock up` (process {held.pid})",
                f"stop it with `{folder.command('down')}`, or choose another folder with --data-dir",
            ) from None
        except OSError as failure:
            raise Refused(f"{folder.shown} cannot be used: {failure.strerror}", advice(failure)) from None
        try:
            yield
        finally:
            if ephemeral:
                folder.empty()
    finally:
        folder.pid_file.release()
        folder.take_back()


def _prepare(
    folder: ClusterFolder, nodes: list[NodeFolder], asked: Asked, given: dict[str, str], held: HeldPorts
) -> list[NodeProcess]:
    """Settle the ports of all nodes, write their settings files, and make their folders one cluster's."""
    texts = [node.text() for node in nodes]
    ports = settle_ports(nodes, texts, (asked.port, asked.metrics_port), asked.reach, held)
    for node, each in zip(nodes, ports, strict=True):
        for number in () if node.is_former else each.all():
            require_free(number, each.host)
    keys = _keys(folder, ports) if asked.secure or folder.is_secure else None
    secure = None if keys is None else keys.node_settings()
    merged = [_merged(node, text, ports, given, secure) for node, text in zip(nodes, texts, strict=True)]
    if given:
        node_settings.refuse_unusable(merged[0])
    for node, text in zip(nodes, merged, strict=True):
        node.write_settings(text)
    _format(nodes, keys)
    return [NodeProcess(node, each) for node, each in zip(nodes, ports, strict=True) if not node.is_former]


def _keys(folder: ClusterFolder, ports: list[Ports]) -> Keys:
    """Those of a secure cluster, good for wherever its nodes are reached."""
    from penstock.cli.securing import Keys
    from penstock.tls.settings import TlsError

    keys = Keys(folder.security_path)
    hosts = [host for each in ports for host in (each.reach.told, each.reach.controllers)]
    try:
        keys.make(["localhost", *hosts], ",".join(each.address for each in ports))
    except TlsError as failure:
        raise Refused(str(failure)) from None
    return keys


def _merged(
    node: NodeFolder, text: str, ports: list[Ports], given: dict[str, str], secure: dict[str, str] | None
) -> str:
    """The settings of a node; one that has joined a cluster of another folder keeps what was decided then."""
    first = [each for each in ports if not each.has_joined]
    own = next(each for each in ports if each.number == node.number)
    if not own.has_joined:
        decided = node_settings.own_settings(first, node.number, node.path)
        if secure is not None:
            told = {key: decided[key].replace("PLAINTEXT://", "SASL_SSL://", 1) for key in node_settings.LISTENERS}
            decided |= told | secure
        return node_settings.merge(text, decided, given, node_settings.local_defaults(len(first)))
    controllers = [each.controller_address for each in first]
    decided = node_settings.joined_settings(own, controllers, CONTROLLER, node.path) if first else {}
    return node_settings.merge(text, decided, given, {})


def _format(nodes: list[NodeFolder], keys: Keys | None) -> None:
    """Folders that are nobody's yet become nodes of the cluster that the others belong to, or of a new one."""
    unformatted = [node for node in nodes if not os.path.exists(os.path.join(node.path, META_FILE))]
    if not unformatted:
        return
    from penstock.cli.formatting import format_folder, new_id, read_meta

    found = [meta for node in nodes if (meta := read_meta(node.path)) is not None]
    cluster_id = found[0].cluster_id if found else new_id()
    for node in unformatted:
        bootstrap = None if keys is None else keys.bootstrap()
        # Only what holds names of users is sealed.
        sealing = None if bootstrap is None else _sealing(node)
        format_folder(node.path, cluster_id, node.number, bootstrap=bootstrap, sealing=sealing)


def _sealing(node: NodeFolder) -> Sealing | None:
    from penstock.cli.sealed_folders import sealing_of
    from penstock.core.base.settings import BrokerSettings

    return sealing_of(BrokerSettings(node_settings.read_settings_file(node.settings_path)), node.path)


def refuse_running(folder: ClusterFolder, node: NodeFolder) -> None:
    if (pid := node.runner()) is not None:
        raise Refused(
            f"node {node.number} is running already (process {pid})", f"stop it with `{folder.command('down')}`"
        )
