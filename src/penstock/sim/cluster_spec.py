"""All that decides a cluster's run besides its seed, drawn from the seed or written down in a test."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from penstock.sim.chance import Chance
from penstock.sim.clients.admin import FOREVER, TopicPlan
from penstock.sim.clients.member import GroupPlan
from penstock.sim.clients.producer import ProducerPlan
from penstock.sim.disk import DiskProfile
from penstock.sim.errands import GROWN, Errand, Errands, churn, is_errand, parse_errand
from penstock.sim.events import Partition
from penstock.sim.network import NetworkProfile
from penstock.sim.node import SYNC_EACH
from penstock.sim.scheduler import MS, SECOND
from penstock.sim.storm import Fault, draw_storm, parse_storm, write_storm

STORM_US: Final = 60 * SECOND
FAULTS_MIN: Final = 10
RECORDS_MIN: Final = 1_000
REPLICAS_MAX: Final = 3
MEMBERS_MAX: Final = 3
SUCCESSIONS: Final = 0.3
THINK_US_MAX: Final = 800 * MS
TAKES_WHAT_IS_NOT_SYNCED: Final = frozenset({"power-loss", "failed-sync"})
NEVER: Final = str((1 << 63) - 1)
ACKS_ALL: Final = -1
KEPT: Final = "kept"
DRIP_BYTES: Final = 300
"""Enough for a frame's header to come byte by byte: each is a turn of a node, and there are many connections."""
SNAPSHOT_BYTES: Final = ("1500", "20971520")
SNAPSHOT_BYTES_SOON: Final = "400"
ABSENCES: Final = 0.4
RESEATINGS: Final = 0.3
RETENTIONS: Final = 0.25
ESTRANGEMENTS: Final = 0.25
RETENTION_MS: Final = (2_000, 10_000)
ABSENT_MS: Final = (10_000, 18_000)


@dataclass(frozen=True, slots=True)
class ClusterSpec:
    """Machines, what happens to them, and who works with them. Of the machines the first ones are only controllers and
    the others only brokers, if `controllers` says how many; otherwise each is both, and of those voters that are kept
    in the log (`is_dynamic`) some may go and come."""

    machines: int
    storm: tuple[Fault, ...] = ()
    errands: tuple[Errand, ...] = ()
    storm_us: int = STORM_US
    records_min: int = RECORDS_MIN
    topics: tuple[TopicPlan, ...] = ()
    producers: tuple[ProducerPlan, ...] = ()
    groups: tuple[GroupPlan, ...] = ()
    members_each: int = 0
    onlookers: int = 0
    controllers: int = 0
    is_dynamic: bool = False
    settings: Mapping[str, str] = field(default_factory=dict)
    disk: DiskProfile = field(default_factory=DiskProfile)
    network: NetworkProfile = field(default_factory=NetworkProfile)

    @property
    def replicas(self) -> int:
        return min(REPLICAS_MAX, self.machines)

    @property
    def partitions(self) -> tuple[Partition, ...]:
        """Those that are there from the beginning to the end."""
        return tuple(Partition(topic.name, number) for topic in self.topics for number in range(topic.partitions))

    @property
    def written(self) -> str:
        """What happens to it, in lines that can be read back."""
        return write_storm(self.storm) + "".join(f"{errand}\n" for errand in self.errands)


def parse_happenings(text: str) -> tuple[tuple[Fault, ...], tuple[Errand, ...]]:
    """The faults and the errands in a text, one per line; what follows a # is for people."""
    lines = [line.partition("#")[0].strip() for line in text.splitlines()]
    faults = "\n".join(line for line in lines if not is_errand(line))
    return parse_storm(faults), tuple(parse_errand(line) for line in lines if is_errand(line))


def draw_cluster(
    seed: int,
    machines: int,
    absences: float = ABSENCES,
    reseatings: float = RESEATINGS,
    retentions: float = RETENTIONS,
    estrangements: float = ESTRANGEMENTS,
) -> ClusterSpec:
    """A workload, a storm that takes nothing from it that was promised, and often an absence, other voters, retention
    or an estrangement beside them."""
    chance = Chance(seed).fork("spec")
    storm = draw_storm(chance, machines, STORM_US, FAULTS_MIN)
    if chance.happens(SUCCESSIONS):
        storm = _by_time(*storm, *_draw_succession(chance, machines))
    is_synced = chance.happens(0.5)
    topic = _draw_topic(chance, machines, is_synced)
    partitions = [Partition(topic.name, number) for number in range(topic.partitions)]
    producers = _draw_producers(chance, partitions)
    unlucky = chance.between(1, machines)
    errands = Errands(chance.fork("errands"), machines, STORM_US, is_synced)
    has_group = chance.happens(0.7)
    spec = ClusterSpec(
        machines,
        storm=storm if is_synced else _bearable(storm, unlucky),
        errands=errands.draw(partitions),
        topics=(topic, TopicPlan(GROWN, 1, {}, topic.replicas)),
        producers=producers,
        groups=(_draw_group(chance, partitions),) if has_group else (),
        members_each=chance.between(1, MEMBERS_MAX) if has_group else 0,
        onlookers=chance.between(0, 1),
        settings=_draw_settings(chance, topic.replicas, is_synced),
        disk=DiskProfile(inline=chance.pick((0.0, 0.5, 0.9, 1.0))),
        network=NetworkProfile(drips=chance.pick((0.0, 0.05)), drip_bytes=DRIP_BYTES),
    )
    # Dice of their own: without these a seed is what it would be if there were none.
    absence, reseating, retention = chance.fork("absence"), chance.fork("reseating"), chance.fork("retention")
    estrangement = chance.fork("estrangement")
    if absence.happens(absences):
        spec = _with_absence(absence, spec, errands)
    if reseating.happens(reseatings):
        spec = replace(spec, is_dynamic=True, errands=_in_order((*spec.errands, *errands.reseat(reseating))))
    if retention.happens(retentions):
        spec = _with_retention(retention, spec)
    if estrangement.happens(estrangements):
        spec = replace(spec, storm=_by_time(*spec.storm, _draw_estrangement(estrangement, machines)))
    return spec


def _with_absence(chance: Chance, spec: ClusterSpec, errands: Errands) -> ClusterSpec:
    """One machine is away for so long, and so much is decided meanwhile, that only a snapshot can bring it back; and a
    replica wanders."""
    from_us, for_us = _draw_absence(chance)
    absence = Fault(from_us, chance.pick(("isolate", "crash")), chance.between(1, spec.machines), for_us=for_us)
    wandering = errands.wander(chance, Partition(KEPT, 0))
    return replace(
        spec,
        storm=_by_time(*spec.storm, absence),
        errands=_in_order((*spec.errands, *churn(chance, from_us, from_us + for_us), *wandering)),
        settings={**spec.settings, "metadata.log.max.record.bytes.between.snapshots": SNAPSHOT_BYTES_SOON},
    )


def _with_retention(chance: Chance, spec: ClusterSpec) -> ClusterSpec:
    """Records go after some seconds, in each replica when its own time has come. Nobody is promised to see all of them,
    so no group asks for that."""
    kept, *others = spec.topics
    forgets = {"segment.ms": "1000", "retention.ms": str(chance.between(*RETENTION_MS))}
    return replace(
        spec,
        topics=(replace(kept, configs={**kept.configs, **forgets}), *others),
        groups=(),
        members_each=0,
        settings={**spec.settings, "log.retention.check.interval.ms": "500"},
    )


def _in_order(errands: Iterable[Errand]) -> tuple[Errand, ...]:
    return tuple(sorted(errands, key=lambda errand: errand.at_us))


def _draw_succession(chance: Chance, machines: int) -> tuple[Fault, ...]:
    """One machine misses what others acknowledge; two of them die before it could catch up, and come back after it."""
    late, *others = _draw_some(chance, machines, min(3, machines))
    at_us, for_us = chance.between(0, STORM_US // MS // 2) * MS, chance.between(4_000, 8_000) * MS
    death_us = at_us + for_us - chance.between(1, 500) * MS
    deaths = [Fault(death_us, "crash", each, for_us=chance.between(2_000, 6_000) * MS) for each in others]
    return (Fault(at_us, "isolate", late, for_us=for_us), *deaths)


def _draw_estrangement(chance: Chance, machines: int) -> Fault:
    """Two machines do not hear each other for so long that whoever waits for one of them alone shows it."""
    one, other = _draw_some(chance, machines, 2)
    from_us, for_us = _draw_absence(chance)
    return Fault(from_us, "cut", one, other, is_directed=chance.happens(0.3), for_us=for_us)


def _draw_some(chance: Chance, machines: int, count: int) -> list[int]:
    """Machines, none of them twice."""
    numbers = list(range(1, machines + 1))
    return [numbers.pop(chance.between(0, len(numbers) - 1)) for _ in range(count)]


def _draw_absence(chance: Chance) -> tuple[int, int]:
    """From when, and for how long."""
    return chance.between(0, STORM_US // MS // 2) * MS, chance.between(*ABSENT_MS) * MS


def _by_time(*faults: Fault) -> tuple[Fault, ...]:
    return tuple(sorted(faults, key=lambda fault: fault.at_us))


def _bearable(storm: tuple[Fault, ...], unlucky: int) -> tuple[Fault, ...]:
    """Records that are not synced before they are acknowledged survive the power loss of one of two that have them, and
    not of both: so only one machine ever loses its power."""
    return tuple(fault for fault in storm if fault.one == unlucky or fault.kind not in TAKES_WHAT_IS_NOT_SYNCED)


def _draw_settings(chance: Chance, replicas: int, is_synced: bool) -> dict[str, str]:
    """Groups' offsets are kept as safe as records are; and some clusters make snapshots of their metadata often."""
    return {
        "offsets.topic.replication.factor": str(replicas),
        "min.insync.replicas": str(min(2, replicas)),
        "metadata.log.max.record.bytes.between.snapshots": chance.pick(SNAPSHOT_BYTES),
        **(SYNC_EACH if is_synced else {}),
    }


def _draw_topic(chance: Chance, machines: int, is_synced: bool) -> TopicPlan:
    replicas = min(REPLICAS_MAX, machines)
    configs = {
        "min.insync.replicas": str(min(2, replicas)),
        "flush.messages": "1" if is_synced else NEVER,
        "segment.ms": str(chance.pick((5_000, 600_000))),
        "retention.ms": FOREVER,
    }
    return TopicPlan(KEPT, chance.between(1, 3), configs, replicas)


def _draw_producers(chance: Chance, partitions: list[Partition]) -> tuple[ProducerPlan, ...]:
    """For each partition one who is promised something, and one who may have asked for less. Whoever sends more at
    once thinks longer, and so do many: all runs are about as large."""
    plans = []
    for partition in partitions:
        for acks in (ACKS_ALL, chance.pick((ACKS_ALL, ACKS_ALL, 1, 0))):
            window_max = 5 if acks == ACKS_ALL and chance.happens(0.7) else 1
            think_us_max = window_max * len(partitions) * THINK_US_MAX
            plans.append(ProducerPlan(partition, acks, window_max > 1, window_max, think_us_max))
    return tuple(plans)


def _draw_group(chance: Chance, partitions: list[Partition]) -> GroupPlan:
    kind = chance.pick(("plain", "static", "cooperative"))
    return GroupPlan("group", tuple(partitions), static=kind == "static", cooperative=kind == "cooperative")
