"""The settings file that `up` keeps for each node: its own keys are decided here, the rest is the person's.

A file that exists keeps what a person wrote into it; later lines win, and `up` writes its own at the end.
"""

import re
import socket
from collections.abc import Iterable
from typing import NamedTuple

from penstock.cli.talk import Misused, Refused, not_text

HOST = "127.0.0.1"
CONTROLLER_PORT_OFFSET = 1000
METRICS_PORT_OFFSET = 2000
METRICS_PORT_KEY = "penstock.metrics.port"
METRICS_HOST_KEY = "penstock.metrics.host"
LISTENERS = ("listeners", "advertised.listeners")
WILDCARDS = frozenset({"0.0.0.0", "::"})
_MARK = "# Written by `penstock up` at each start; change what is above, or use --set."
# What suits a local cluster better than Kafka's defaults: somebody who tries things out does not want a group to wait
# for more members, and who starts three nodes wants topics that survive the loss of one.
_LOCAL_DEFAULTS = {"group.initial.rebalance.delay.ms": "0"}
_REPLICATED_DEFAULTS = {"default.replication.factor": "3", "min.insync.replicas": "2"}
_REPLICAS = 3
_JOINED = re.compile(r"^process\.roles=broker$", re.MULTILINE)
_DECIDED_BY = {
    "node.id": "--nodes",
    "process.roles": "--nodes",
    "controller.quorum.voters": "--nodes",
    "controller.quorum.bootstrap.servers": "--join",
    "controller.listener.names": "--nodes",
    "listeners": "--port and --host",
    "advertised.listeners": "--advertised-host",
    "log.dirs": "--data-dir",
    "log.dir": "--data-dir",
    METRICS_PORT_KEY: "--metrics-port",
}


class Reach(NamedTuple):
    """The address that nodes listen on, and the name that clients are told, where that is another one."""

    host: str = HOST
    advertised: str | None = None

    @property
    def told(self) -> str:
        """Every interface is no address that anybody could connect to: without a name this machine's own is told."""
        return self.advertised or (socket.gethostname() if self.host in WILDCARDS else self.host)

    @property
    def controllers(self) -> str:
        """Nodes find each other at an address, and every interface includes loopback."""
        return HOST if self.host in WILDCARDS else self.host


LOOPBACK = Reach()


class Ports:
    """Where one node listens; one that has joined a cluster is no controller."""

    def __init__(
        self, number: int, port: int, metrics_port: int, *, has_joined: bool = False, reach: Reach = LOOPBACK
    ) -> None:
        self.number = number
        self.client = port + number - 1
        self.controller = port + CONTROLLER_PORT_OFFSET + number
        self.metrics = metrics_port + number - 1
        self.has_joined = has_joined
        self.reach = reach

    @property
    def host(self) -> str:
        return self.reach.host

    def all(self) -> tuple[int, ...]:
        return (self.client, self.metrics) if self.has_joined else (self.client, self.controller, self.metrics)

    @property
    def address(self) -> str:
        """Where clients connect."""
        return joined_address(self.reach.told, self.client)

    @property
    def controller_address(self) -> str:
        return joined_address(self.reach.controllers, self.controller)

    @property
    def metrics_url(self) -> str:
        return f"http://{joined_address(self.reach.controllers, self.metrics)}/metrics"


def joined_address(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def joined_settings(own: Ports, controllers: Iterable[str], listener: str, data_path: str) -> dict[str, str]:
    """The keys that `up` decides for a node that joins a cluster, given where the controllers of that are."""
    return {
        "process.roles": "broker",
        "node.id": str(own.number),
        **_client_listeners(own),
        "controller.listener.names": listener,
        "controller.quorum.bootstrap.servers": ",".join(controllers),
        "log.dirs": data_path,
        METRICS_PORT_KEY: str(own.metrics),
    }


def own_settings(ports: list[Ports], number: int, data_path: str) -> dict[str, str]:
    """The keys that `up` decides for a node that controls, given the ports of all that do."""
    own = next(each for each in ports if each.number == number)
    return {
        "process.roles": "broker,controller",
        "node.id": str(number),
        **_client_listeners(own, f",CONTROLLER://{own.controller_address}"),
        "controller.listener.names": "CONTROLLER",
        "controller.quorum.voters": ",".join(f"{each.number}@{each.controller_address}" for each in ports),
        "log.dirs": data_path,
        METRICS_PORT_KEY: str(own.metrics),
    }


def _client_listeners(own: Ports, others: str = "") -> dict[str, str]:
    return {
        "listeners": f"PLAINTEXT://{joined_address(own.host, own.client)}{others}",
        "advertised.listeners": f"PLAINTEXT://{own.address}",
    }


def ports_of(text: str) -> tuple[int, int] | None:
    """The client and metrics ports that a settings file of ours names, if it does."""
    client, metrics = _client_listener(text), _parse(text).get(METRICS_PORT_KEY, "")
    return (int(client[2]), int(metrics)) if client and metrics.isdecimal() else None


def reach_of(text: str) -> Reach | None:
    """On which address the node of a settings file of ours listens, and what clients are told."""
    listener, told = _client_listener(text), _client_listener(text, "advertised.listeners")
    if listener is None:
        return None
    host = listener[1].strip("[]")
    name = told[1].strip("[]") if told else None
    return Reach(host, None if name == host else name)


def address_of(text: str) -> str | None:
    """Where the node of a settings file is reached from this machine."""
    client, reach = _client_listener(text), reach_of(text)
    return joined_address(reach.controllers, int(client[2])) if client and reach else None


def own_ports(text: str, number: int) -> Ports | None:
    """All that a settings file says of where a node that has joined a cluster listens."""
    reach, ports = reach_of(text), ports_of(text)
    if reach is None or ports is None:
        return None
    return Ports(number, ports[0] - number + 1, ports[1] - number + 1, has_joined=True, reach=reach)


def has_joined(text: str) -> bool:
    """Whether a settings file of ours is that of a node which has joined a cluster."""
    return _JOINED.search(text) is not None


def inherited(text: str) -> dict[str, str]:
    """What the settings of a node say beside what is each node's own."""
    return {key: value for key, value in _parse(text).items() if key not in _DECIDED_BY}


def _client_listener(text: str, key: str = "listeners") -> re.Match[str] | None:
    return re.search(r"(?:PLAINTEXT|SASL_SSL)://([^,]*):([0-9]+)", _parse(text).get(key, ""))


def parse_assignments(assignments: list[str]) -> dict[str, str]:
    """`key=value` arguments as settings."""
    settings = {}
    for assignment in assignments:
        key, equals, value = assignment.partition("=")
        if not equals or not key.strip():
            raise Misused(f"--set {assignment} is not KEY=VALUE", "for example: --set log.retention.hours=24")
        settings[key.strip()] = value.strip()
    return settings


def read_settings_file(path: str, option: str = "--config") -> dict[str, str]:
    """The settings of a file in Kafka's format."""
    try:
        with open(path, encoding="utf-8") as file:
            return _parse(file.read(), path)
    except OSError as failure:
        raise Refused(f"cannot read {path}: {failure.strerror}", f"check the path given with {option}") from None
    except UnicodeDecodeError:
        raise not_text(path) from None


def refuse_decided(settings: dict[str, str], source: str) -> None:
    """Keys that follow from `up`'s own options cannot be set beside them."""
    for key, option in _DECIDED_BY.items():
        if key in settings:
            raise Misused(
                f"{key} ({source}) is decided by `penstock up`",
                f"use {option} instead, or run the node by itself: penstock node --config FILE",
            )


def local_defaults(nodes: int) -> dict[str, str]:
    """What holds in a cluster of so many nodes, unless a person says otherwise."""
    return _LOCAL_DEFAULTS | _REPLICATED_DEFAULTS if nodes >= _REPLICAS else _LOCAL_DEFAULTS


def merge(text: str, decided: dict[str, str], given: dict[str, str], defaults: dict[str, str]) -> str:
    """The text of a settings file: what a person wrote above the mark stays as it is, below it stands what `up`
    decides and what it was given, now or at an earlier start."""
    above, _, below = text.partition(_MARK)
    theirs = _parse(above)
    unsaid = {key: value for key, value in defaults.items() if key not in theirs}
    lines = [f"{key}={_escape(value)}" for key, value in (unsaid | _parse(below) | given | decided).items()]
    return "\n".join([above.rstrip("\n"), _MARK, *lines, ""]).lstrip("\n")


def refuse_unusable(text: str) -> None:
    """Settings with which no node would start are refused before they are written down and found there next time."""
    from penstock.core.base.settings import BrokerSettings, SettingError

    try:
        BrokerSettings(_parse(text))
    except SettingError as failure:
        raise Misused("; ".join(failure.problems), "`penstock config check FILE` says what each setting does") from None


def _escape(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")
    return "\\" + escaped if escaped.startswith(" ") else escaped


def _parse(text: str, source: str = "server.properties") -> dict[str, str]:
    """Names and values of a settings text. Its reader comes with the whole catalogue of settings, which takes longer
    to load than the rest of `up`: a fresh cluster, which has nothing to read, does without."""
    if not text:
        return {}
    from penstock.core.base.settings.key import SettingError
    from penstock.core.base.settings.properties import parse_properties

    try:
        return parse_properties(text)
    except SettingError as failure:
        raise Refused(f"cannot read {source}: {failure}", "settings are lines of key=value") from None
