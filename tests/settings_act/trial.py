"""A trial: one run of the node with one value of one setting, given in one of the places where it can be given."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from penstock.core.base.errors import ErrorCode
from penstock.core.base.settings import SettingError
from penstock.core.metadata.configs import SET
from penstock.core.metadata.image import BROKER_RESOURCE, GROUP_RESOURCE, TOPIC_RESOURCE
from penstock.core.wire.api.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from penstock.core.wire.api.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from tests.node.world import World

Settings = Mapping[str, str | None]
"""None takes a setting away that the world would give."""
NOTHING: Final[Settings] = MappingProxyType({})


class Place(Enum):
    """Where a value is given."""

    FILE = "in the file"
    ALL_BROKERS = "to all running brokers"
    ONE_BROKER = "to a running broker"
    NEW_TOPIC = "to a new topic"
    TOPIC = "to a topic"
    GROUP = "to a group"


class Machine(World):
    """A world that takes settings away too."""

    def __init__(self, settings: Settings) -> None:
        self._without = {name for name, value in settings.items() if value is None}
        super().__init__({name: value for name, value in settings.items() if value is not None})

    def file(self) -> dict[str, str]:
        return {name: value for name, value in super().file().items() if name not in self._without}

    def jump(self, duration_ms: int) -> None:
        """Move the clock in one step: whatever became due on the way is done once."""
        self.now_ms += duration_ms
        self.turn(self.node.tick)
        self.settle()


def alter(world: World, resource_type: int, resource_name: str, changes: Mapping[str, str]) -> int:
    """Change settings while the node runs; gives the error code."""
    configs = [AlterableConfig(name=name, config_operation=SET, value=value) for name, value in changes.items()]
    resource = AlterConfigsResource(resource_type=resource_type, resource_name=resource_name, configs=configs)
    answer = world.client().ask(IncrementalAlterConfigsRequest(resources=[resource]))
    code: int = answer.responses[0].error_code
    return code


class Trial(NamedTuple):
    name: str
    value: str | None
    place: Place

    def settings(self, others: Settings) -> dict[str, str | None]:
        """What the file says."""
        return {**others, self.name: self.value} if self.place is Place.FILE else dict(others)

    def begin(self, settings: Settings = NOTHING, topic: Mapping[str, str] | None = None) -> Machine:
        """A node in which the value is in force, with a topic `t` if its settings are given."""
        world = Machine(self.settings(settings))
        if topic is not None:
            own = {self.name: self.value} if self.place is Place.NEW_TOPIC and self.value is not None else {}
            configs = [CreatableTopicConfig(name=name, value=value) for name, value in {**topic, **own}.items()]
            wanted = CreatableTopic(name="t", num_partitions=1, replication_factor=1, configs=configs)
            answer = world.client().ask(CreateTopicsRequest(topics=[wanted], timeout_ms=1000))
            assert answer.topics[0].error_code == 0, answer
        self._change(world)
        return world

    def _change(self, world: World) -> None:
        resources = {
            Place.ALL_BROKERS: (BROKER_RESOURCE, ""),
            Place.ONE_BROKER: (BROKER_RESOURCE, "1"),
            Place.TOPIC: (TOPIC_RESOURCE, "t"),
            Place.GROUP: (GROUP_RESOURCE, "g"),
        }
        if self.place in resources and self.value is not None:
            assert alter(world, *resources[self.place], {self.name: self.value}) == 0

    def starts(self, settings: Settings = NOTHING) -> bool:
        """Whether a node starts at all."""
        try:
            self.begin(settings)
        except SettingError:
            return False
        return True


def may_be(trial: Trial, name: str, value: str) -> bool:
    """Whether a group may have this of its own."""
    return alter(trial.begin(), GROUP_RESOURCE, "g", {name: value}) == ErrorCode.NONE


class Flip(NamedTuple):
    """What is observed under the default, and under another value."""

    observe: Callable[[Trial], object]
    default: tuple[str | None, object]
    other: tuple[str | None, object]


def on(observe: Callable[..., object], *args: Any, **named: Any) -> Callable[[Trial], object]:
    """An observation with its particulars."""
    return lambda trial: observe(trial, *args, **named)
