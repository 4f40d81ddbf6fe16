"""The settings of one broker: typed values out of a file and of what was changed since, and the word on odd ones."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from penstock.core.base.endpoints import SecurityProtocol
from penstock.core.base.settings.examine import Finding, examine
from penstock.core.base.settings.key import Dynamic, Key, SettingError, Standing
from penstock.core.base.settings.listeners import Listeners, inter_broker_listener
from penstock.core.base.settings.per_listener import ListenerSettings
from penstock.core.base.settings.registry import BROKER_KEYS, GROUP_KEYS, TOPIC_KEYS
from penstock.core.base.settings.role_rules import BROKER, CONTROLLER

_NOTHING: Final[Mapping[str, str]] = MappingProxyType({})


class Layers(NamedTuple):
    """Where values come from, the strongest first; below all are the defaults."""

    dynamic_broker: Mapping[str, str]
    dynamic_default: Mapping[str, str]
    static: Mapping[str, str]


class BrokerSettings:
    """Typed values by Kafka's names: `settings["log.segment.bytes"]`.

    A value comes from the first of its `layers` that has it: set for this broker while it runs, set for all brokers
    while they run, its file; else it is the default. An instance never changes; `with_dynamic` makes another.
    """

    def __init__(
        self,
        static: Mapping[str, str],
        dynamic_broker: Mapping[str, str] = _NOTHING,
        dynamic_default: Mapping[str, str] = _NOTHING,
    ) -> None:
        self.layers = Layers(dynamic_broker, dynamic_default, _with_identity(static))
        self._values, findings = examine({**static, **dynamic_default, **dynamic_broker})
        if problems := [finding.message for finding in findings if finding.is_fatal]:
            raise SettingError(problems)
        self.warnings = _warnings(findings)

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def __contains__(self, name: str) -> bool:
        """Whether the setting was given, by a file or while running."""
        return any(name in layer for layer in self.layers)

    def with_dynamic(self, broker: Mapping[str, str], default: Mapping[str, str]) -> BrokerSettings:
        return BrokerSettings(self.layers.static, broker, default)

    def topic_default(self, name: str) -> Any:
        """What a topic setting is where the topic itself does not say."""
        return self._inherited(TOPIC_KEYS[name])

    def group_default(self, name: str) -> Any:
        return self._inherited(GROUP_KEYS[name])

    def _inherited(self, key: Key) -> Any:
        for synonym in key.synonyms:
            value = self._values[synonym.name]
            if value is not None:
                scaled = value * synonym.factor if synonym.factor != 1 else value
                # Any negative retention of a broker means for ever, which a topic says as -1.
                return -1 if key.name == "retention.ms" and scaled < 0 else scaled
        return key.default

    @cached_property
    def topic_defaults(self) -> Mapping[str, Any]:
        return MappingProxyType({name: self.topic_default(name) for name in TOPIC_KEYS})

    @cached_property
    def listeners(self) -> Listeners:
        return Listeners.read(self._values, "listener.security.protocol.map" in self)

    def of_listener(self, name: str) -> ListenerSettings:
        """The settings as one listener has them."""
        return ListenerSettings(self._values, name)

    @property
    def inter_broker_listener(self) -> str:
        """By which listener brokers ask each other."""
        return inter_broker_listener(self._values, self.listeners)

    @property
    def controller_listener(self) -> str:
        """By which listener controllers are asked."""
        name: str = self["controller.listener.names"][0]
        return name.upper()

    def protocol_of(self, listener: str) -> int:
        """How a listener is spoken to, here or at another node; plainly, where nothing says it."""
        return self.listeners.protocols.get(listener, SecurityProtocol.PLAINTEXT)

    @property
    def is_broker(self) -> bool:
        """Whether this process holds partitions and serves clients."""
        return BROKER in self._values["process.roles"]

    @property
    def is_controller(self) -> bool:
        """Whether this process may vote in the quorum and lead it."""
        return CONTROLLER in self._values["process.roles"]

    @property
    def node_id(self) -> int:
        return int(self._values["node.id"])

    @property
    def log_dir(self) -> str:
        """The one directory of this node's partitions."""
        return str((self._values["log.dirs"] or self._values["log.dir"])[0])

    @property
    def metadata_log_dir(self) -> str:
        return self._values["metadata.log.dir"] or self.log_dir


def _with_identity(static: Mapping[str, str]) -> Mapping[str, str]:
    """`node.id` and its older name stand for each other."""
    node_id = static.get("node.id", static.get("broker.id", ""))
    return MappingProxyType({"node.id": node_id, "broker.id": node_id, **static})


def _warnings(findings: list[Finding]) -> list[str]:
    """One line for all settings without meaning, and one for each unknown name."""
    meaningless = [finding.name for finding in findings if finding.standing is Standing.NO_MEANING]
    lines = []
    if meaningless:
        lines.append(
            f"these settings have no meaning here and change nothing: {', '.join(meaningless)} "
            "(`penstock config check FILE` says why)"
        )
    unknown = [finding for finding in findings if finding.standing is Standing.UNKNOWN]
    return lines + [f"unknown setting {finding.name} is ignored: {finding.message}" for finding in unknown]


def validate_dynamic(changes: Mapping[str, str], *, per_broker: bool) -> None:
    """Whether these broker settings may be changed while running; a SettingError says why not."""
    known = {name: key for name in changes if (key := BROKER_KEYS.get(name))}
    fixed = [name for name, key in known.items() if key.dynamic is Dynamic.READ_ONLY]
    if fixed:
        raise SettingError(f"Cannot update these configs dynamically: [{', '.join(fixed)}]")
    own = [name for name, key in known.items() if key.dynamic is Dynamic.PER_BROKER]
    if own and not per_broker:
        raise SettingError(
            f"Cannot update these configs at default cluster level, broker id must be specified: [{', '.join(own)}]"
        )
