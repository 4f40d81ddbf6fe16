"""One more node for a cluster that runs: asks it who there is, takes the next number, and comes as a broker.

It follows the metadata and votes on nothing, so that it can come and go without anybody's consent.
"""

import os
import shutil
import socket
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from penstock.cli import node_settings
from penstock.cli.choosing_ports import (
    ANY_PORT,
    PORT_MAX,
    HeldPorts,
    free_base,
    listen_failure,
    refuse_impossible,
    require_free,
)
from penstock.cli.folder import ClusterFolder, NodeFolder
from penstock.cli.formatting import format_folder, read_meta
from penstock.cli.node_process import NodeProcess
from penstock.cli.node_settings import HOST, METRICS_PORT_OFFSET, Ports, Reach
from penstock.cli.plain import PORT
from penstock.cli.talk import Refused, say
from penstock.cli.up import held_node
from penstock.client.admin import Admin
from penstock.client.blocking import Client, parse_addresses
from penstock.client.errors import ClientError
from penstock.client.quorum import describe_quorum, registered_brokers

ANSWER_SECONDS_MAX = 5.0
PORTS_TRIED_MAX = 100
NUMBERS_TRIED_MAX = 5
# Whoever is new and has another one's number need not try for a minute.
_DEFAULTS = {"initial.broker.registration.timeout.ms": "5000"}


class Wish(NamedTuple):
    """What was asked for with `--join`."""

    address: str
    port: int | None
    metrics_port: int | None
    reach: Reach | None
    settings: dict[str, str]


class Found(NamedTuple):
    """What a cluster says of itself to somebody who wants to join it."""

    cluster_id: str
    node_ids: frozenset[int]
    alive: frozenset[int]
    controllers: tuple[str, ...]
    listener: str


def join_cluster(folder: ClusterFolder, wish: Wish, run: Callable[[NodeProcess], int]) -> int:
    """Run a node that belongs to the cluster from its first start on; one that joined before and has stopped comes
    back. Somebody else may have taken the number of a new one at the same moment: then it gets another."""
    bootstrap = wish.address or _own_cluster(folder)
    for _ in range(NUMBERS_TRIED_MAX):
        found = _ask(bootstrap)
        node = _stopped(folder, found) or folder.node(_free_number(folder, found))
        is_new = not os.path.exists(node.path)
        with _prepared(folder, node, found, bootstrap, wish) as process:
            code = run(process)
            if code == 0 or process.is_ready or not is_new or node.number not in _ask(bootstrap).alive:
                return code
        say(f"node {node.number} has come from elsewhere at the same time: this one takes another number")
        shutil.rmtree(node.path)
    raise Refused("others take every number that is free", "let nodes join one after the other")


@contextmanager
def _prepared(
    folder: ClusterFolder, node: NodeFolder, found: Found, bootstrap: str, wish: Wish
) -> Iterator[NodeProcess]:
    """The node with its settings and its folder, which nobody else starts meanwhile."""
    with HeldPorts() as held:
        ports = _settle_ports(folder, node, bootstrap, wish, held)
        refuse_impossible(ports)
        for port in ports.all():
            require_free(port, ports.host)
        text = _settings(folder, node, ports, found, wish)
        node_settings.refuse_unusable(text)
        os.makedirs(node.path, exist_ok=True)
        with held_node(node):
            node.write_settings(text)
            if read_meta(node.path) is None:
                format_folder(node.path, found.cluster_id, node.number)
            say(f"node {node.number} joins cluster {found.cluster_id}")
            yield NodeProcess(node, ports)


def _settle_ports(folder: ClusterFolder, node: NodeFolder, bootstrap: str, wish: Wish, held: HeldPorts) -> Ports:
    """Those that are asked for, those of before, or some that are free."""
    before = node_settings.own_ports(node.text(), node.number)
    if before is not None and wish.port is None and wish.reach is None:
        return before
    if wish.port == ANY_PORT:
        reach = wish.reach or Reach(HOST if not wish.address else _address_towards(parse_addresses(bootstrap)))
        base = free_base([1], wish.metrics_port, reach, held)
        wish = wish._replace(port=base, metrics_port=wish.metrics_port or base + METRICS_PORT_OFFSET)
    return _local_ports(folder, node.number, wish) if not wish.address else _ports(node.number, bootstrap, wish)


def _own_cluster(folder: ClusterFolder) -> str:
    """The addresses of the nodes that are in the same folder."""
    if not folder.nodes():
        raise Refused(
            f"there is no cluster in {folder.shown} that could be joined",
            "say where one is: penstock up --join HOST:PORT; or name its folder with --data-dir",
        )
    texts = [node.text() for node in folder.nodes() if node.pid_file.holder() is not None]
    addresses = [address for text in texts if (address := node_settings.address_of(text)) is not None]
    if not addresses:
        raise Refused(f"no node runs in {folder.shown}", f"start them first: {folder.command('up')}")
    return ",".join(addresses)


def _ask(bootstrap: str) -> Found:
    try:
        with Client(bootstrap, client_id="penstock-join", timeout=ANSWER_SECONDS_MAX) as client:
            quorum, cluster_id = describe_quorum(client), Admin(client).cluster().cluster_id
            brokers = registered_brokers(client)
    except ClientError as failure:
        raise Refused(f"the cluster at {bootstrap} cannot be joined: {failure}", failure.hint) from None
    members = (*quorum.voters, *quorum.observers)
    voters = [member for member in quorum.voters if member.addresses]
    if not voters:
        raise Refused(f"the cluster at {bootstrap} does not tell where its controllers are", "it may be too old")
    return Found(
        cluster_id,
        frozenset((*(member.node_id for member in members), *(broker.node_id for broker in brokers))),
        frozenset(broker.node_id for broker in brokers if not broker.is_fenced),
        tuple(member.addresses[0] for member in voters),
        voters[0].listeners[0],
    )


def _stopped(folder: ClusterFolder, found: Found) -> NodeFolder | None:
    """A node in the folder that joined this cluster before and does not run; its number may be somebody else's now."""
    for node in folder.nodes():
        is_free = not node.is_former and node.runner() is None and node.number not in found.alive
        if is_free and node_settings.has_joined(node.text()):
            meta = read_meta(node.path)
            if meta is None or meta.cluster_id == found.cluster_id:
                return node
    return None


def _free_number(folder: ClusterFolder, found: Found) -> int:
    return 1 + max((*found.node_ids, *(node.number for node in folder.nodes())), default=0)


def _local_ports(folder: ClusterFolder, number: int, wish: Wish) -> Ports:
    """Those that follow from the ports of the folder's first node, unless others are asked for."""
    first = node_settings.ports_of(folder.nodes()[0].text()) or (PORT, PORT + METRICS_PORT_OFFSET)
    ports = Ports(number, first[0] - folder.nodes()[0].number + 1, first[1] - folder.nodes()[0].number + 1)
    return _chosen(number, wish.reach or Reach(), wish.port or ports.client, wish.metrics_port or ports.metrics)


def _ports(number: int, bootstrap: str, wish: Wish) -> Ports:
    """On an address that the others can reach, since that is where they fetch from."""
    reach = wish.reach or Reach(_address_towards(parse_addresses(bootstrap)))
    port = wish.port or next(
        (
            port
            for port in range(PORT, PORT + PORTS_TRIED_MAX)
            if _are_free((port, port + METRICS_PORT_OFFSET), reach.host)
        ),
        PORT,
    )
    return _chosen(number, reach, port, wish.metrics_port or min(port + METRICS_PORT_OFFSET, PORT_MAX))


def _chosen(number: int, reach: Reach, port: int, metrics_port: int) -> Ports:
    return Ports(number, port - number + 1, metrics_port - number + 1, has_joined=True, reach=reach)


def _are_free(ports: Iterable[int], host: str) -> bool:
    return all(listen_failure(port, host) is None for port in ports)


def _address_towards(addresses: list[tuple[str, int]]) -> str:
    """The address of this machine that the system would use to reach another one; nothing is sent."""
    for host, port in addresses:
        try:
            family, kind, protocol, _, where = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)[0]
            with socket.socket(family, kind, protocol) as towards:
                towards.connect(where)
                return str(towards.getsockname()[0])
        except OSError:
            continue
    return HOST


def _settings(folder: ClusterFolder, node: NodeFolder, ports: Ports, found: Found, wish: Wish) -> str:
    """What a person wrote for this node stays; a new one takes over what the folder's first node was given."""
    decided = node_settings.joined_settings(ports, found.controllers, found.listener, node.path)
    text = node.text()
    taken = {} if text or not folder.nodes() else node_settings.inherited(folder.nodes()[0].text())
    return node_settings.merge(text, decided, taken | wish.settings, _DEFAULTS)
