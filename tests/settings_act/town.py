"""A town: a cluster of simulated machines in which one setting has one value."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from penstock.core.metadata.configs import SET
from penstock.core.metadata.image import BROKER_RESOURCE, TOPIC_RESOURCE, PartitionImage
from penstock.core.node.links.link import Address, Answered
from penstock.core.node.node import Node
from penstock.core.records.build import build_batch
from penstock.core.wire.api.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from penstock.core.wire.api.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from penstock.core.wire.api.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from penstock.core.wire.registry import response_class
from penstock.core.wire.schema import Request
from penstock.sim.chance import Chance
from penstock.sim.clients.client import Connection
from penstock.sim.cluster import ClusterNodes
from penstock.sim.disk import DiskProfile
from penstock.sim.events import Event
from penstock.sim.network import NetworkProfile
from penstock.sim.ports import SimNode
from penstock.sim.scheduler import EPOCH_MS, MS, SECOND, Scheduler
from penstock.sim.script import Future
from penstock.sim.site import Place as Spot
from penstock.sim.trace import Trace
from penstock.sim.world import World
from tests.settings_act.trial import NOTHING, Place, Settings, Trial

MACHINES: Final = (1, 2, 3)
QUICK: Final = {
    # They agree on a leader soon, and an hour without events costs little.
    "controller.quorum.election.timeout.ms": "50",
    "broker.heartbeat.interval.ms": "500",
    "broker.session.timeout.ms": "3000",
    "auto.create.topics.enable": "false",
}
CALM: Final = NetworkProfile(delay_us_max=1 * MS, drips=0)
FAST: Final = DiskProfile(inline=1, sync_us_max=1 * MS, closes_files=0)
SOON_S: Final = 20


class Nobody:
    """Judges nothing."""

    def __init__(self, scheduler: Scheduler, trace: Trace) -> None:
        pass

    def see(self, event: Event) -> None:
        pass


class Question(NamedTuple):
    """What one node asked another."""

    at_ms: int
    by: int
    to: Address
    request: Request


class WatchedNodes(ClusterNodes):
    """Real nodes whose questions to each other are noted."""

    def __init__(self, settings: Mapping[str, str]) -> None:
        super().__init__(len(MACHINES), settings)
        self.questions: list[Question] = []

    def settings(self, number: int) -> dict[str, str]:
        """What is said of `#` is said of each machine by its number."""
        return {name: value.replace("#", str(number)) for name, value in super().settings(number).items()}

    def make(self, place: Spot, chance: Chance) -> SimNode:
        node = super().make(place, chance)
        assert isinstance(node, Node)
        ask = node.links.ask

        def watched(
            to: Address, purpose: str, request: Request, timeout_ms: int, done: Answered, quiet_ms: int | None = None
        ) -> None:
            self.questions.append(Question(node.now_ms, place.number, to, request))
            ask(to, purpose, request, timeout_ms, done, quiet_ms)

        node.links.ask = watched  # type: ignore[method-assign]  # it is there to be listened to
        return node


class Town:
    """Three machines, each a broker and a voter."""

    def __init__(self, trial: Trial, others: Settings = NOTHING) -> None:
        given = {name: value for name, value in {**QUICK, **trial.settings(others)}.items() if value is not None}
        self.trial = trial
        self.nodes = WatchedNodes(given)
        self.world = World(1, self.nodes, Nobody, FAST, CALM, machines=len(MACHINES))

    # Time

    @property
    def now_s(self) -> float:
        return self.world.scheduler.now_us / SECOND

    @property
    def now_ms(self) -> int:
        return EPOCH_MS + self.world.scheduler.now_us // MS

    def pass_time(self, seconds: float) -> None:
        scheduler = self.world.scheduler
        scheduler.run_until(scheduler.now_us + int(seconds * SECOND))

    def happens(self, condition: Callable[[], bool], within_s: float = SOON_S) -> bool:
        scheduler = self.world.scheduler
        return scheduler.run_while(lambda: not condition(), scheduler.now_us + int(within_s * SECOND))

    def wait(self, condition: Callable[[], bool], within_s: float = SOON_S) -> None:
        assert self.happens(condition, within_s), "it did not happen"

    # Machines

    def begin(self) -> Town:
        """Boot everybody, and give the value to those who run, where that is its place."""
        self.world.boot()
        self.wait(lambda: all(map(self.serves, MACHINES)) and len(self.controllers()) == 1 and self._all_know_all())
        if self.trial.value is not None:
            if self.trial.place is Place.ALL_BROKERS:
                self.alter(BROKER_RESOURCE, "", {self.trial.name: self.trial.value})
            elif self.trial.place is Place.ONE_BROKER:
                for number in MACHINES:
                    self.alter(BROKER_RESOURCE, str(number), {self.trial.name: self.trial.value})
        return self

    def node(self, number: int) -> Node:
        node = self.world.sites[number].node
        assert isinstance(node, Node), "it is down"
        return node

    def _all_know_all(self) -> bool:
        """Whether every node that runs knows every broker, and takes none for dead."""
        images = [self.node(number).image for number in MACHINES if self.serves(number)]
        return all(image.is_active(broker) for image in images for broker in MACHINES)

    def serves(self, number: int) -> bool:
        return self.world.sites[number].machine.running

    def crash(self, number: int) -> None:
        """Kill a process, and keep it from coming back by itself."""
        self.world.sites[number].machine.crash()

    def boot(self, number: int) -> None:
        self.world.sites[number].boot()
        self.wait(lambda: self.serves(number))

    def turn(self, number: int, action: Callable[[], None]) -> None:
        """Let something happen inside a node."""
        self.world.sites[number].machine.turn(lambda _: action())

    def separate(self, one: int, other: int) -> None:
        """From now on these two hear nothing of each other."""
        self.world.network.close((one, other))
        self.world.network.close((other, one))

    def controllers(self) -> list[int]:
        """Those that lead the metadata log, as far as they know."""
        running = [number for number in MACHINES if self.serves(number)]
        return [number for number in running if self.node(number).quorum.leads]

    @property
    def controller(self) -> int:
        (found,) = self.controllers()
        return found

    @property
    def others(self) -> tuple[int, int]:
        """The two that do not control."""
        first, second = (number for number in MACHINES if number != self.controller)
        return first, second

    def asked(self, kind: type[Request], by: int | None = None, since_s: float = 0) -> list[Question]:
        since_ms = EPOCH_MS + int(since_s * 1000)
        return [
            each
            for each in self.nodes.questions
            if isinstance(each.request, kind) and by in (None, each.by) and each.at_ms >= since_ms
        ]

    # Clients

    def send(self, number: int, request: Request, newest_version: int | None = None) -> Future:
        connection = Connection("client", self.world, number)
        self.wait(lambda: connection.ready.resolved)
        return connection.ask(request, response_class(request.KEY), newest_version)

    def ask(self, number: int, request: Request, within_s: float = SOON_S, newest_version: int | None = None) -> Any:
        answer = self.send(number, request, newest_version)
        self.wait(lambda: answer.resolved, within_s)
        return self.result(answer)

    def result(self, answer: Future) -> Any:
        """What an answer says that has come."""
        found: list[object] = []
        answer.begin(self.world.scheduler, found.append)
        self.wait(lambda: bool(found))
        return found[0]

    def alter(self, resource_type: int, resource_name: str, changes: Mapping[str, str]) -> None:
        configs = [AlterableConfig(name=name, config_operation=SET, value=value) for name, value in changes.items()]
        resource = AlterConfigsResource(resource_type=resource_type, resource_name=resource_name, configs=configs)
        answer = self.ask(self.controller, IncrementalAlterConfigsRequest(resources=[resource]))
        assert answer.responses[0].error_code == 0, answer

    def create(self, *replicas: int, **settings: str) -> None:
        """Make topic `t`, with one partition on these machines, and give it the value, where that is its place."""
        trial = self.trial
        configs = dict(settings)
        if trial.place is Place.NEW_TOPIC and trial.value is not None:
            configs[trial.name] = trial.value
        wanted = CreatableTopic(
            name="t",
            num_partitions=-1,
            replication_factor=-1,
            assignments=[CreatableReplicaAssignment(partition_index=0, broker_ids=list(replicas))],
            configs=[CreatableTopicConfig(name=name, value=value) for name, value in configs.items()],
        )
        answer = self.ask(self.controller, CreateTopicsRequest(topics=[wanted], timeout_ms=10_000))
        assert answer.topics[0].error_code == 0, answer
        if trial.place is Place.TOPIC and trial.value is not None:
            self.alter(TOPIC_RESOURCE, "t", {trial.name: trial.value})
        self.wait(lambda: all(self.node(each).replicas.get("t", 0) is not None for each in replicas))

    def partition(self) -> PartitionImage:
        """What the controller knows of `t`."""
        topic = self.node(self.controller).image.topic("t")
        assert topic is not None
        return topic.partition(0)

    def append(self, number: int, size: int = 10, acks: int = -1, timeout_s: float = SOON_S) -> int:
        """Produce one record to `t`; gives the error code."""
        request = self.record(size, acks, timeout_s)
        code: int = self.ask(number, request, timeout_s + 1).responses[0].partition_responses[0].error_code
        return code

    def record(self, size: int = 10, acks: int = -1, timeout_s: float = SOON_S) -> ProduceRequest:
        """What a producer sends for one record."""
        batch = bytes(build_batch([(None, bytes(size), (), self.now_ms)]))
        data = PartitionProduceData(index=0, records=batch)
        topics = [TopicProduceData(name="t", topic_id=self.topic_id, partition_data=[data])]
        return ProduceRequest(acks=acks, timeout_ms=int(timeout_s * 1000), topic_data=topics)

    @property
    def topic_id(self) -> bytes:
        topic = self.node(self.controller).image.topic("t")
        assert topic is not None
        return topic.id
