"""The settings file that `up` keeps for each node: its own keys are decided here, the rest is the person's.

A file that exists keeps what a person wrote into it; later lines win, and `up` writes its own at the end.
"""

import re
from collections.abc import Iterable

from penstock.cli.talk import Refused

HOST = "127.0.0.1"
CONTROLLER_PORT_OFFSET = 1000
METRICS_PORT_OFFSET = 2000
METRICS_PORT_KEY = "penstock.metrics.port"
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
    "listeners": "--port",
    "advertised.listeners": "--port",
    "log.dirs": "--data-dir",
    "log.dir": "--data-dir",
    METRICS_PORT_KEY: "--metrics-port",
}


class Ports:
    """The ports of one node; one that has joined a cluster is no controller, and may be reached at another address."""

    def __init__(
        self, number: int, port: int, metrics_port: int, *, has_joined: bool = False, host: str = HOST
    ) -> None:
        self.number = number
        self.client = port + number - 1
        self.controller = port + CONTROLLER_PORT_OFFSET + number
        self.metrics = metrics_port + number - 1
        self.has_joined = has_joined
        self.host = host

    def all(self) -> tuple[int, ...]:
        return (self.client, self.metrics) if self.has_joined else (self.client, self.controller, self.metrics)

    @property
    def address(self) -> str:
        """Where clients connect."""
        return f"[{self.host}]:{self.client}" if ":" in self.host else f"{self.host}:{self.client}"


def joined_settings(own: Ports, controllers: Iterable[str], listener: str, data_path: str) -> dict[str, str]:
    """The keys that `up` decides for a node that joins a cluster, given where the controllers of that are."""
    return {
        "process.roles": "broker",
        "node.id": str(own.number),
        "listeners": f"PLAINTEXT://{own.address}",
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
        "listeners": f"PLAINTEXT://{HOST}:{own.client},CONTROLLER://{HOST}:{own.controller}",
        "controller.listener.names": "CONTROLLER",
        "controller.quorum.voters": ",".join(f"{each.number}@{HOST}:{each.controller}" for each in ports),
        "log.dirs": data_path,
        METRICS_PORT_KEY: str(own.metrics),
    }


def ports_of(text: str) -> tuple[int, int] | None:
    """The client and metrics ports that a settings file of ours names, if it does."""
    client, metrics = _client_listener(text), _parse(text).get(METRICS_PORT_KEY, "")
    return (int(client[2]), int(metrics)) if client and metrics.isdecimal() else None


def address_of(text: str) -> str | None:
    """Where the node of a settings file serves clients."""
    client = _client_listener(text)
    return f"{client[1]}:{client[2]}" if client else None


def own_ports(text: str, number: int) -> Ports | None:
    """All that a settings file says of where a node that has joined a cluster listens."""
    client, ports = _client_listener(text), ports_of(text)
    if client is None or ports is None:
        return None
    return Ports(number, ports[0] - number + 1, ports[1] - number + 1, has_joined=True, host=client[1].strip("[]"))


def has_joined(text: str) -> bool:
    """Whether a settings file of ours is that of a node which has joined a cluster."""
    return _JOINED.search(text) is not None


def inherited(text: str) -> dict[str, str]:
    """What the settings of a node say beside what is each node's own."""
    return {key: value for key, value in _parse(text).items() if key not in _DECIDED_BY}


def _client_listener(text: str) -> re.Match[str] | None:
    return re.search(r"PLAINTEXT://([^,]*):([0-9]+)", _parse(text).get("listeners", ""))


def parse_assignments(assignments: list[str]) -> dict[str, str]:
    """`key=value` arguments as settings."""
    settings = {}
    for assignment in assignments:
        key, equals, value = assignment.partition("=")
        if not equals or not key.strip():
            raise Refused(f"--set {assignment} is not KEY=VALUE", "for example: --set log.retention.hours=24")
        settings[key.strip()] = value.strip()
    return settings


def read_settings_file(path: str) -> dict[str, str]:
    """The settings of a file in Kafka's format."""
    try:
        with open(path, encoding="utf-8") as file:
            return _parse(file.read(), path)
    except OSError as failure:
        raise Refused(f"cannot read {path}: {failure.strerror}", "check the path given with --config") from None
    except UnicodeDecodeError:
        raise Refused(f"{path} is not a text file", "settings are lines of key=value in UTF-8") from None


def refuse_decided(settings: dict[str, str], source: str) -> None:
    """Keys that follow from `up`'s own options cannot be set beside them."""
    for key, option in _DECIDED_BY.items():
        if key in settings:
            raise Refused(
                f"{key} ({source}) is decided by `penstock up`",
                f"use {option} instead, or run the node by itself: penstock node --config FILE",
            )


def local_defaults(nodes: int) -> dict[str, str]:
    """What holds in a cluster of so many nodes unless a person says otherwise."""
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
        raise Refused("; ".join(failure.problems), "`penstock config check FILE` says what each setting does") from None


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
