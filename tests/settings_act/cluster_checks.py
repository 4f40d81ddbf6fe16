"""What the settings of a cluster's life do: brokers and controllers joined by pipes, in virtual time."""

from __future__ import annotations

from penstock.core.metadata.image import BROKER_RESOURCE, Image
from penstock.core.node.membership.broker_lifecycle import State
from penstock.core.wire.api.create_topics import CreatableReplicaAssignment, CreatableTopic, CreateTopicsRequest
from tests.node.controller.nodes import Nodes
from tests.node.controller.test_nodes import creation
from tests.node.controller.test_plans import alteration
from tests.node.controller.world import World, cluster
from tests.settings_act.town import Town
from tests.settings_act.trial import Trial

SETTLED_MS = 1_000
"""So long after the start everything has its rhythm."""
PARTITIONS = 24
RATE = "follower.replication.throttled.rate"


def _cluster(trial: Trial, **others: str) -> World:
    world = cluster(1, 2, 3, **others, **({} if trial.value is None else {trial.name: trial.value}))
    world.run(SETTLED_MS)
    return world


def heartbeats_in_a_minute(trial: Trial) -> int:
    """Of one broker, in hundreds."""
    world = _cluster(trial)
    beats = []
    speak = world.machines[2].broker_lifecycle._heartbeat
    world.machines[2].broker_lifecycle._heartbeat = lambda: beats.append(1) or speak()  # type: ignore[method-assign,func-returns-value]  # counts
    world.run(60_000)
    return round(len(beats), -2)


def is_fenced_after(trial: Trial, silent_ms: int) -> bool:
    world = _cluster(trial)
    world.pause(2, 60_000)
    world.run(silent_ms)
    return world.fenced() == [2]


def gives_up_after(trial: Trial, alone_ms: int) -> bool:
    world = World(**({} if trial.value is None else {trial.name: trial.value}))
    world.start(1)
    world.run(alone_ms)
    return world.machines[1].broker_lifecycle.state is State.GONE


def hands_over(trial: Trial) -> bool:
    world = _cluster(trial)
    left: list[bool] = []
    world.machines[2].broker_lifecycle.stop(left.append)
    world.run_until(lambda: bool(left), 10_000)
    return left[0]


def answer_without_a_controller(trial: Trial, waited_s: int) -> bool:
    """Whether a client that is patient has been answered after some time."""
    nodes = Nodes(**({} if trial.value is None else {trial.name: trial.value}))
    asked = nodes.other
    connection = nodes.connect(asked)
    for number, site in nodes.world.sites.items():
        if number != asked:
            site.crash(600_000_000)
    request = creation("t", replicas=1)
    request.timeout_ms = 600_000
    return nodes.is_answered(connection, request, waited_s)


def leader_after_a_while(trial: Trial, waited_ms: int, **others: str) -> int:
    """Of a partition whose first replica was away for a moment."""
    world = _cluster(trial, **others)
    world.create("t", [2, 3], min_insync_replicas="1")
    world.pause(2, 2_000)
    world.run_until(lambda: world.partition().leader == 3, 10_000)
    world.run_until(lambda: not world.fenced(), 10_000)
    world.ask(alteration(world, [3, 2]))
    world.run(waited_ms)
    return world.partition().leader


def leader_at_any_price(trial: Trial, waited_ms: int) -> int:
    """Of a partition whose only complete replica is gone, some time after that was allowed to be."""
    world = _cluster(trial)
    world.create("t", [2, 3], min_insync_replicas="1")
    world.ask(alteration(world, [2]))
    world.kill(2)
    world.run_until(lambda: world.fenced() == [2], 10_000)
    world.configure("t", unclean_leader_election_enable="true")
    world.run(waited_ms)
    return world.partition().leader


def leads_what_is_new(trial: Trial) -> bool:
    """Whether the first replica of a partition leads it, which alone has the value."""
    town = Town(trial._replace(value=None)).begin()
    first, second = town.others
    if trial.value is not None:
        town.alter(BROKER_RESOURCE, str(first), {trial.name: trial.value})
    town.create(first, second)
    return town.partition().leader == first


def moves_under_way(trial: Trial, waited_ms: int, **others: str) -> int:
    """How many copies are being made some time after a broker has joined; none of them ever arrives."""
    world = _cluster(trial, **others)
    world.create("t", *([1, 2] for _ in range(PARTITIONS)))
    world.start(4)
    world.run(waited_ms)
    return world.committed.tally.reassigning


class Uneven(Town):
    """Two machines that hold everything, and one that holds nothing, and shall have its share."""

    def __init__(self, trial: Trial, *, marked: bool = True) -> None:
        super().__init__(trial, {"auto.balance.interval.ms": "100"})
        self.begin()
        assignments = [
            CreatableReplicaAssignment(partition_index=index, broker_ids=[1, 2]) for index in range(PARTITIONS)
        ]
        wanted = CreatableTopic(name="t", num_partitions=-1, replication_factor=-1, assignments=assignments)
        answer = self.ask(self.controller, CreateTopicsRequest(topics=[wanted], timeout_ms=10_000))
        assert answer.topics[0].error_code == 0, answer
        if marked:
            self.alter(BROKER_RESOURCE, "3", {"auto.balance.pending": "true"})

    @property
    def image(self) -> Image:
        return self.node(self.controller).image

    @property
    def share(self) -> int:
        topic = self.image.topic("t")
        return 0 if topic is None else len(topic.placed_on(3))


def gets_its_share(trial: Trial, *, marked: bool = True) -> bool:
    town = Uneven(trial, marked=marked)
    return town.happens(lambda: town.share >= PARTITIONS // 2, 5)


def rate_of_balancing(trial: Trial) -> str | None:
    town = Uneven(trial)
    town.wait(lambda: RATE in town.image.config(BROKER_RESOURCE, ""))
    return town.image.config(BROKER_RESOURCE, "").get(RATE)


def takes_new_partitions(trial: Trial) -> bool:
    """Of all three machines, one that was cordoned by the trial."""
    town = Town(trial).begin()
    town.pass_time(2)
    return town.node(town.controller).image.brokers[2].has_room


def error_of_creating(trial: Trial, name: str, partitions: int = 1) -> int:
    """What somebody hears who wants a topic."""
    topic = CreatableTopic(name=name, num_partitions=partitions, replication_factor=1)
    answer = trial.begin().client().ask(CreateTopicsRequest(topics=[topic], timeout_ms=1000))
    code: int = answer.topics[0].error_code
    return code
