"""All that decides a cluster's run besides its seed, drawn from the seed or written down in a test."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from penstock.core.base.settings.rules import RACK_AWARE_SELECTOR
from penstock.sim.chance import Chance
from penstock.sim.clients.admin import FOREVER, TopicPlan
from penstock.sim.clients.hostile import HOST
from penstock.sim.clients.member import GroupPlan
from penstock.sim.clients.producer import ProducerPlan
from penstock.sim.compacting import compact_cluster
from penstock.sim.disk import DiskProfile
from penstock.sim.errands import GROWN, OF_A_VOTER, Errand, Errands, churn, is_errand, parse_errand
from penstock.sim.events import Partition
from penstock.sim.live_groups.plan import LiveGroupPlan, draw_live_group
from penstock.sim.network import NetworkProfile
from penstock.sim.node import SYNC_EACH
from penstock.sim.scheduler import MS, SECOND
from penstock.sim.staging import stage_cluster
from penstock.sim.storm import Fault, draw_storm, parse_storm, write_storm
from penstock.sim.transactions.plan import ChainPlan, draw_chain

STORM_US: Final = 60 * SECOND
FAULTS_MIN: Final = 10
RECORDS_MIN: Final = 1_000
REPLICAS_MAX: Final = 3
MEMBERS_MAX: Final = 3
SUCCESSIONS: Final = 0.3
THINK_US_MAX: Final = 800 * MS
TAKES_WHAT_IS_NOT_SYNCED: Final = frozenset({"power-loss", "failed-sync", "failed-disk"})
NEVER: Final = str((1 << 63) - 1)
ACKS_ALL: Final = -1
KEPT: Final = "kept"
DRIP_BYTES: Final = 300
"""Enough for a frame's header to come byte by byte: each is a turn of a node, and there are many connections."""
SNAPSHOT_BYTES: Final = ("1500", "20971520")
SNAPSHOT_BYTES_SOON: Final = "400"
RETENTION_MS: Final = (2_000, 10_000)
NEAR_READERS_MAX: Final = 3
NEAR: Final = {"replica.selector.class": RACK_AWARE_SELECTOR}
HOSTILES_MAX: Final = 2
HOSTILE_SETTINGS: Final = {
    "max.connections.per.ip.overrides": f"{HOST}:10",
    "penstock.request.elements.max": "1000",
    "penstock.producers.per.partition.max": "40",
    "penstock.group.members.bytes.max": "65536",
    "penstock.frames.unfinished.bytes.max": "70000",
    "penstock.frame.stall.ms.max": "2000",
}
"""Bounds that are low enough for small harm to run into them."""
ROTS: Final = ("rot-index", "rot-log", "rot-tail", "rot-metadata")
ROTS_MAX: Final = 3
ROTTEN_BITS_MAX: Final = 3
SHORTAGES_MAX: Final = 4
ABSENT_MS: Final = (10_000, 18_000)


@dataclass(frozen=True, slots=True)
class Shares:
    """In what share of all clusters something comes beside what each has. All have dice of their own: without these a
    seed is what it was before there were any. New ones come last."""

    absences: float = 0.4
    reseatings: float = 0.3
    retentions: float = 0.25
    estrangements: float = 0.25
    near_readers: float = 0.3
    hostiles: float = 0.25
    failed_disks: float = 0.25
    rots: float = 0.25
    stagings: float = 0.3
    shortages: float = 0.25
    drains: float = 0.25
    chains: float = 0.3
    compactions: float = 0.2
    live_groups: float = 0.0


OFTEN: Final = Shares()
WITH_LIVE_GROUPS: Final = Shares(live_groups=0.25)
"""What `penstock sim` draws."""
NOTHING_BESIDE: Final = Shares(
    absences=0.0,
    reseatings=0.0,
    retentions=0.0,
    estrangements=0.0,
    near_readers=0.0,
    hostiles=0.0,
    failed_disks=0.0,
    rots=0.0,
    stagings=0.0,
    shortages=0.0,
    drains=0.0,
    chains=0.0,
    compactions=0.0,
    live_groups=0.0,
)


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
    chain: ChainPlan | None = None
    live_group: LiveGroupPlan | None = None
    onlookers: int = 0
    near_readers: int = 0
    hostiles: int = 0
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
    def all_topics(self) -> tuple[TopicPlan, ...]:
        """With those in which there are transactions, and that of a live group."""
        return (
            self.topics
            + (() if self.chain is None else self.chain.topics)
            + (() if self.live_group is None else (self.live_group.topic,))
        )

    @property
    def all_partitions(self) -> tuple[Partition, ...]:
        return (
            self.partitions
            + (() if self.chain is None else self.chain.partitions)
            + (() if self.live_group is None else self.live_group.partitions)
        )

    @property
    def written(self) -> str:
        """What happens to it, in lines that can be read back."""
        return write_storm(self.storm) + "".join(f"{errand}\n" for errand in self.errands)


def parse_happenings(text: str) -> tuple[tuple[Fault, ...], tuple[Errand, ...]]:
    """The faults and the errands in a text, one per line; what follows a # is for people."""
    lines = [line.partition("#")[0].strip() for line in text.splitlines()]
    faults = "\n".join(line for line in lines if not is_errand(line))
    return parse_storm(faults), tuple(parse_errand(line) for line in lines if is_errand(line))


def draw_cluster(seed: int, machines: int, shares: Shares = OFTEN) -> ClusterSpec:
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
    return _with_besides(chance, spec, errands, shares, unlucky)


def _with_besides(chance: Chance, spec: ClusterSpec, errands: Errands, shares: Shares, unlucky: int) -> ClusterSpec:
    absence, reseating, retention = chance.fork("absence"), chance.fork("reseating"), chance.fork("retention")
    estrangement = chance.fork("estrangement")
    if absence.happens(shares.absences):
        spec = _with_absence(absence, spec, errands)
    if reseating.happens(shares.reseatings):
        spec = replace(spec, is_dynamic=True, errands=_in_order((*spec.errands, *errands.reseat(reseating))))
    if retention.happens(shares.retentions):
        spec = _with_retention(retention, spec)
    if estrangement.happens(shares.estrangements):
        spec = replace(spec, storm=_by_time(*spec.storm, _draw_estrangement(estrangement, spec.machines)))
    near_reading = chance.fork("near-reading")
    if near_reading.happens(shares.near_readers):
        spec = replace(spec, near_readers=near_reading.between(1, NEAR_READERS_MAX), settings={**spec.settings, **NEAR})
    hostility = chance.fork("hostility")
    if hostility.happens(shares.hostiles):
        settings = {**spec.settings, **HOSTILE_SETTINGS}
        spec = replace(spec, hostiles=hostility.between(1, HOSTILES_MAX), settings=settings)
    failing = chance.fork("failing-disk")
    if failing.happens(shares.failed_disks):
        spec = replace(spec, storm=_by_time(*spec.storm, *_draw_failed_disk(failing, spec.machines, unlucky)))
    rotting = chance.fork("rotting")
    if rotting.happens(shares.rots):
        spec = _with_rot(rotting, spec, unlucky)
    staging = chance.fork("staging")
    if staging.happens(shares.stagings):
        spec = stage_cluster(staging, spec)
    shortage = chance.fork("shortage")
    if shortage.happens(shares.shortages):
        spec = replace(spec, storm=_by_time(*spec.storm, *_draw_shortages(shortage, spec.machines)))
    draining = chance.fork("draining")
    if draining.happens(shares.drains):
        spec = replace(spec, errands=_in_order((*spec.errands, *errands.drain(draining))))
    chaining = chance.fork("chaining")
    if chaining.happens(shares.chains):
        chain = draw_chain(chaining, spec.replicas, spec.topics[0].configs)
        spec = replace(spec, chain=chain, settings={**spec.settings, **chain.settings})
    compacting = chance.fork("compacting")
    if compacting.happens(shares.compactions) and spec.chain is None:
        # A chain reads all records of its topic, each of them once.
        spec = compact_cluster(compacting, spec)
    living = chance.fork("live-group")
    if living.happens(shares.live_groups):
        group = draw_live_group(living, spec.replicas, spec.topics[0].configs)
        spec = replace(spec, live_group=group, settings={**spec.settings, **group.settings})
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


def _with_rot(chance: Chance, spec: ClusterSpec, machine: int) -> ClusterSpec:
    """Bits flip on the disk of one machine while its process is down: of what was acknowledged, one whole copy less
    than `min.insync.replicas` is there, and that is never only one. No other machine may lose its power: where all
    have, who led last leads again, as in Kafka, and what rots there above the recovery point is taken for torn."""
    storm = list(spec.storm)
    for _ in range(chance.between(1, ROTS_MAX)):
        at_us, for_us = chance.between(5_000, STORM_US // MS) * MS, chance.between(2_000, 4_000) * MS
        storm.append(Fault(at_us, "crash", machine, for_us=for_us))
        storm.append(
            Fault(at_us + for_us // 2 // MS * MS, chance.pick(ROTS), machine, by=chance.between(1, ROTTEN_BITS_MAX))
        )
    errands = [each for each in spec.errands if (each.setting, each.value) != ("min.insync.replicas", "1")]
    if any(fault.kind == "rot-metadata" for fault in storm):
        # Of two voters none may lose what it has.
        errands = [each for each in errands if each.kind not in OF_A_VOTER]
    return replace(spec, storm=_by_time(*_bearable(tuple(storm), machine)), errands=tuple(errands))


def _in_order(errands: Iterable[Errand]) -> tuple[Errand, ...]:
    return tuple(sorted(errands, key=lambda errand: errand.at_us))


def _draw_succession(chance: Chance, machines: int) -> tuple[Fault, ...]:
    """One machine misses what others acknowledge; two of them die before it could catch up, and come back after it."""
    late, *others = _draw_some(chance, machines, min(3, machines))
    at_us, for_us = chance.between(0, STORM_US // MS // 2) * MS, chance.between(4_000, 8_000) * MS
    death_us = at_us + for_us - chance.between(1, 500) * MS
    deaths = [Fault(death_us, "crash", each, for_us=chance.between(2_000, 6_000) * MS) for each in others]
    return (Fault(at_us, "isolate", late, for_us=for_us), *deaths)


def _draw_failed_disk(chance: Chance, machines: int, unlucky: int) -> tuple[Fault, ...]:
    """A disk fails while another machine misses what is acknowledged, which is back when the disk is; and whoever has
    everything dies shortly before."""
    at_us, for_us = chance.between(5_000, STORM_US // MS - 10_000) * MS, chance.between(500, 3_000) * MS
    failed = Fault(at_us, "failed-disk", unlucky, for_us=for_us)
    others = [number for number in _draw_some(chance, machines, machines) if number != unlucky][:2]
    if len(others) < 2:
        return (failed,)
    back_us = at_us + for_us + chance.between(0, 500) * MS
    away_us, death_us = at_us - chance.between(2_000, 5_000) * MS, at_us + for_us - chance.between(0, 300) * MS
    return (
        Fault(away_us, "isolate", others[0], for_us=back_us - away_us),
        failed,
        Fault(death_us, "crash", others[1], for_us=chance.between(4_000, 8_000) * MS),
    )


def _draw_shortages(chance: Chance, machines: int) -> Iterable[Fault]:
    """On one machine or another something else has taken all descriptors."""
    for _ in range(chance.between(1, SHORTAGES_MAX)):
        at_us, for_us = chance.between(0, STORM_US // MS) * MS, chance.between(200, 4_000) * MS
        yield Fault(at_us, "no-descriptors", chance.between(1, machines), for_us=for_us)


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
