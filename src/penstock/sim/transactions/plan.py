"""A chain of topics and the programs at work in it, as values, drawn from the seed or written down in a test."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Final

from penstock.sim.chance import Chance
from penstock.sim.clients.admin import FOREVER, TopicPlan
from penstock.sim.clients.member import GroupPlan
from penstock.sim.clients.transactor import SECOND_PROTOCOL, ProgramPlan
from penstock.sim.clients.troubles import HURRIES
from penstock.sim.events import Partition

STAGES_MAX: Final = 2
PARTITIONS_MAX: Final = 2
SOURCES_MAX: Final = 2
MEMBERS_MAX: Final = 3
TIMEOUT_MS: Final = (3_000, 8_000)
OLD_PROGRAMS: Final = 0.4
TWINS: Final = 0.5
FLIPS: Final = 0.25
STRAINS: Final = 0.15
HURRIES_OFTEN: Final = 0.3
FORGETS_IDS: Final = {
    "transactional.id.expiration.ms": "3000",
    "transaction.remove.expired.transaction.cleanup.interval.ms": "1000",
}
ROLLS_SOON: Final = {"log.roll.ms": "700"}
STAGED: Final = ({"compression.type": "zstd"}, {"penstock.batch.validation": "records"})
"""Why batches are read before they are appended."""
SETTINGS: Final = {
    "transaction.state.log.num.partitions": "2",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "500",
}


@dataclass(frozen=True, slots=True)
class LinkPlan:
    """Programs that read one topic and write to the next: members of a group, or all under one transactional id."""

    group: GroupPlan
    outputs: tuple[Partition, ...]
    programs: tuple[ProgramPlan, ...]
    are_members: bool


@dataclass(frozen=True, slots=True)
class ChainPlan:
    """All of it. `level` is the cluster's `transaction.version`; `flips` where that goes down and up meanwhile."""

    level: int = SECOND_PROTOCOL
    topics: tuple[TopicPlan, ...] = ()
    sources: tuple[ProgramPlan, ...] = ()
    links: tuple[LinkPlan, ...] = ()
    settings: Mapping[str, str] = field(default_factory=dict)
    flips: bool = False

    @property
    def partitions(self) -> tuple[Partition, ...]:
        return tuple(each for topic in self.topics for each in partitions_of(topic))


def partitions_of(topic: TopicPlan) -> tuple[Partition, ...]:
    return tuple(Partition(topic.name, number) for number in range(topic.partitions))


def draw_chain(chance: Chance, replicas: int, configs: Mapping[str, str]) -> ChainPlan:
    """`configs`: those of a topic that keeps what it has acknowledged."""
    level = chance.pick((1, SECOND_PROTOCOL, SECOND_PROTOCOL))
    kept = {**{name: configs[name] for name in ("min.insync.replicas", "flush.messages")}, "retention.ms": FOREVER}
    topics = tuple(
        TopicPlan(
            f"chain-{number}",
            chance.between(1, PARTITIONS_MAX),
            {**kept, "segment.ms": chance.pick(("4000", "600000"))},
            replicas,
        )
        for number in range(chance.between(1, STAGES_MAX) + 1)
    )
    sources = tuple(
        _draw_program(chance, f"source-{number}", level) for number in range(chance.between(1, SOURCES_MAX))
    )
    links = tuple(_draw_link(chance, *pair, level) for pair in pairwise(topics))
    copies = {
        "transaction.state.log.replication.factor": str(replicas),
        "transaction.state.log.min.isr": kept["min.insync.replicas"],
    }
    plan = ChainPlan(level, topics, sources, links, {**SETTINGS, **copies}, chance.happens(FLIPS))
    return _strained(chance.fork("strain"), plan)


def _strained(chance: Chance, plan: ChainPlan) -> ChainPlan:
    """The same, where much is forgotten soon, read before it is appended, or given up in haste."""
    settings, configs, hurries = dict(plan.settings), dict[str, str](), HURRIES
    if chance.happens(STRAINS):
        settings |= FORGETS_IDS
    if chance.happens(STRAINS):
        settings |= ROLLS_SOON
    if chance.happens(STRAINS):
        configs |= chance.pick(STAGED)
        settings |= {"penstock.batch.inline.bytes.max": "0"}
    if chance.happens(STRAINS):
        configs |= {"segment.ms": "700"}
    if chance.happens(STRAINS):
        hurries = HURRIES_OFTEN
    topics = tuple(replace(topic, configs={**topic.configs, **configs}) for topic in plan.topics)
    return replace(plan, topics=topics, settings=settings, sources=_hurrying(plan.sources, hurries))


def _hurrying(programs: tuple[ProgramPlan, ...], hurries: float) -> tuple[ProgramPlan, ...]:
    return tuple(replace(each, hurries=hurries) for each in programs)


def _draw_link(chance: Chance, inputs: TopicPlan, outputs: TopicPlan, level: int) -> LinkPlan:
    name = f"to-{outputs.name}"
    if chance.happens(TWINS):
        plan = _draw_program(chance, name, level, is_shared=chance.happens(0.8))
        programs, kind = (plan,) * (2 if plan.is_shared else 1), "plain"
    else:
        count = chance.between(1, MEMBERS_MAX)
        programs = tuple(_draw_program(chance, f"{name}-{number}", level) for number in range(count))
        kind = chance.pick(("plain", "static", "cooperative"))
    group = GroupPlan(name, partitions_of(inputs), static=kind == "static", cooperative=kind == "cooperative")
    return LinkPlan(group, partitions_of(outputs), programs, are_members=len({*programs}) == len(programs) > 1)


def _draw_program(chance: Chance, transactional_id: str, level: int, is_shared: bool = False) -> ProgramPlan:
    protocol = 1 if chance.happens(OLD_PROGRAMS) else level
    return ProgramPlan(transactional_id, protocol, chance.between(*TIMEOUT_MS), is_shared)
