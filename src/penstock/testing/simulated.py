"""`SimCluster`: several real nodes in a simulated world: virtual time, faults and clients, all decided by a seed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Final, Generic, Self, TypeVar

from penstock.sim.clients.admin import Admin, TopicPlan
from penstock.sim.clients.client import Client
from penstock.sim.cluster import ClusterNodes
from penstock.sim.cluster_court import ClusterCourt
from penstock.sim.cluster_overview import Overview
from penstock.sim.cluster_scenario import ModelArchive
from penstock.sim.cluster_watch import ClusterWatch, held
from penstock.sim.disk import DiskProfile
from penstock.sim.events import Partition, Read, Stuck
from penstock.sim.invariants.acknowledged_is_readable import AcknowledgedIsReadable
from penstock.sim.invariants.base import Invariant
from penstock.sim.invariants.everyone_is_answered import EveryoneIsAnswered
from penstock.sim.invariants.everyone_makes_progress import EveryoneMakesProgress
from penstock.sim.invariants.fetched_is_produced import FetchedIsProduced
from penstock.sim.invariants.in_sync_have_it import InSyncHaveIt
from penstock.sim.invariants.leaders_tell_news import LeadersTellNews
from penstock.sim.invariants.lease_ends_first import LeaseEndsFirst
from penstock.sim.invariants.metadata_agrees import MetadataAgrees
from penstock.sim.invariants.no_duplicate import NoDuplicate
from penstock.sim.invariants.no_gap import NoGap
from penstock.sim.invariants.one_leader import OneLeader
from penstock.sim.invariants.replicas_agree import ReplicasAgree
from penstock.sim.invariants.topics_survive import TopicsSurvive
from penstock.sim.invariants.watermark_rises_in_epoch import WatermarkRisesInEpoch
from penstock.sim.network import NetworkProfile
from penstock.sim.rules import TopicRules, rules_of
from penstock.sim.scheduler import SECOND
from penstock.sim.script import Script
from penstock.sim.storm import parse_storm
from penstock.sim.weather import Weather
from penstock.sim.world import World
from penstock.testing.simclient import SimClient

T = TypeVar("T")

CALM_S_MAX: Final = 300.0
REPLICAS_MAX: Final = 3

JUDGES: Final[tuple[type[Invariant], ...]] = (
    AcknowledgedIsReadable,
    EveryoneIsAnswered,
    EveryoneMakesProgress,
    FetchedIsProduced,
    InSyncHaveIt,
    LeadersTellNews,
    LeaseEndsFirst,
    MetadataAgrees,
    NoDuplicate,
    NoGap,
    OneLeader,
    ReplicasAgree,
    TopicsSurvive,
    WatermarkRisesInEpoch,
)
"""What is held against the nodes while somebody else's clients use them."""


class Job(Generic[T]):
    """A client at work."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.done = False
        self._result: T | None = None

    @property
    def result(self) -> T:
        """What its generator returned."""
        assert self.done, f"{self.name} has not finished"
        return self._result  # type: ignore[return-value]  # It is whatever the generator returned, None included.

    def follow(self, script: Script[T]) -> Script[None]:
        self._result = yield from script
        self.done = True


class SimCluster:
    """A cluster from its first start to the audit at its end. Nothing in it takes real time."""

    def __init__(
        self, nodes: int = 3, *, seed: int = 0, storm: str = "", settings: Mapping[str, object] | None = None
    ) -> None:
        """`storm`: faults, a line each, counted from when the cluster serves."""
        self._rules: dict[str, TopicRules] = {}
        self._topics: dict[str, TopicPlan] = {}
        self._topic_ids: dict[str, bytes] = {}
        self._jobs: list[Job[Any]] = []
        self._replicas = min(nodes, REPLICAS_MAX)
        self._first_storm = parse_storm(storm)
        given = {
            "offsets.topic.replication.factor": self._replicas,
            "min.insync.replicas": min(self._replicas, 2),
            **(settings or {}),
        }
        self._world: World[ClusterCourt] = World(
            seed,
            ClusterNodes(nodes, {name: str(value) for name, value in given.items()}),
            lambda scheduler, trace: ClusterCourt(scheduler, trace, self._rules, invariants=JUDGES),
            DiskProfile(),
            NetworkProfile(drips=0.0),
            machines=nodes,
        )
        world = self._world
        self._overview = Overview(world.witness, world.trace)
        self._watches = [
            ClusterWatch(site, self._overview, world.witness, world.trace) for site in world.sites.values()
        ]
        self._weather = Weather(world, world.chance.fork("weather"))

    def __enter__(self) -> Self:
        self._world.boot()
        self._run_while(lambda: not self._all_serve(), CALM_S_MAX, "cluster")
        self._weather.schedule(self._first_storm)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if kind is None:
            self.finish()
            self.check()

    @property
    def now(self) -> float:
        """Seconds since the world began."""
        return self._world.scheduler.now_us / SECOND

    @property
    def trace(self) -> tuple[str, ...]:
        """What happened last, a line each."""
        return tuple(self._world.trace.tail)

    def create_topic(self, name: str, partitions: int = 1, **configs: object) -> None:
        """Return when the topic can be used; settings with `_` for each dot."""
        given = {key.replace("_", "."): str(value) for key, value in configs.items()}
        plan = TopicPlan(name, partitions, given, self._replicas)
        self._rules[name] = rules_of(given)
        job = self._start(lambda client: _create(client, plan), f"creator of {name}")
        self._wait_for(job, CALM_S_MAX)
        self._topics[name], self._topic_ids[name] = plan, job.result

    def start(self, script: Callable[[SimClient], Script[T]], name: str = "") -> Job[T]:
        """Let a client begin. `script` is a generator function of one argument, the client."""
        archive = ModelArchive(self._world.witness.model)
        name = name or f"{getattr(script, '__name__', 'client')}-{len(self._jobs)}"
        job = self._start(lambda client: script(SimClient(client, self._topic_ids, archive)), name)
        self._jobs.append(job)
        return job

    def storm(self, text: str) -> None:
        """More faults, counted from now."""
        self._weather.schedule(parse_storm(text))

    def run(self, seconds: float) -> None:
        """Let time pass. What a client raises is raised here."""
        self._world.scheduler.run_until(self._world.scheduler.now_us + round(seconds * SECOND))

    def finish(self, seconds_max: float = CALM_S_MAX) -> None:
        """End all faults, and wait for every client to finish."""
        self._weather.end()
        for job in self._jobs:
            self._wait_for(job, seconds_max)

    def check(self) -> None:
        """Read everything once more, and compare it with what was promised, and the replicas with each other."""
        for plan in self._topics.values():
            for number in range(plan.partitions):
                self._check(Partition(plan.name, number))

    def _check(self, partition: Partition) -> None:
        self._run_while(lambda: not self._is_copied(partition), CALM_S_MAX, f"replicas of {partition}")
        self._world.witness.see(held(self._watches, partition, self._topics[partition.topic].forgets))
        job = self.start(lambda client: _read_all(client, partition), f"auditor of {partition}")
        self._wait_for(job, CALM_S_MAX)
        self._world.witness.see(job.result)

    # ---- inside

    def _start(self, script: Callable[[Client], Script[T]], name: str) -> Job[T]:
        job: Job[T] = Job(name)
        self._world.act(name, lambda client: job.follow(script(client)))
        return job

    def _wait_for(self, job: Job[Any], seconds_max: float) -> None:
        self._run_while(lambda: not job.done, seconds_max, job.name)

    def _run_while(self, busy: Callable[[], bool], seconds_max: float, who: str) -> None:
        scheduler = self._world.scheduler
        if not scheduler.run_while(busy, scheduler.now_us + round(seconds_max * SECOND)):
            self._world.witness.see(Stuck(who))

    def _all_serve(self) -> bool:
        return all(watch.serves for watch in self._watches)

    def _is_copied(self, partition: Partition) -> bool:
        ends = [watch.end_of(partition) for watch in self._watches]
        there = [end for end in ends if end is not None]
        return len(there) == self._replicas and len(set(there)) == 1


def _create(client: Client, plan: TopicPlan) -> Script[bytes]:
    admin = Admin(client)
    yield from admin.create(plan)
    topic_id = yield from admin.topic_id(plan.name)
    client.disconnect()
    return topic_id


def _read_all(client: SimClient, partition: Partition) -> Script[Read]:
    end = yield from client.end(partition.topic, partition.number)
    position, found = 0, list[tuple[int, bytes]]()
    while position < end:
        for record in (yield from client.insist(client.read, partition.topic, position, partition.number)):
            if record.offset < end:
                found.append((record.offset, record.value or b""))
            position = record.offset + 1
    return Read(partition, 0, end, tuple(found))
