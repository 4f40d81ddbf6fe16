"""Clusters and nodes whose batches are read before the append: a topic asks for it, and no batch is small enough for
the loop.

Jobs take their seeded time, so that batches in flight, other leaders, crashes and connections that end meet a full
stage; and some jobs die with their worker.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from penstock.sim.chance import Chance
from penstock.sim.disk import DiskProfile
from penstock.sim.scheduler import MS

if TYPE_CHECKING:
    from penstock.sim.clients.admin import TopicPlan
    from penstock.sim.cluster_spec import ClusterSpec
    from penstock.sim.scenario import Spec

KEYS: Final = 6
NEVER: Final = str((1 << 63) - 1)
# Keys are asked for and nothing is ever cleaned, so that all that was acknowledged can still be demanded.
KEYED: Final = {"cleanup.policy": "compact,delete", "min.compaction.lag.ms": NEVER}
CODECS: Final = ("uncompressed", "lz4", "zstd", "snappy", "gzip")
"""What comes in another one is packed anew; what comes in this one needs no reading, and waits in its turn."""
JOB_US_MAX: Final = (20 * MS, 300 * MS, 2_000 * MS)
INLINE_BYTES_MAX: Final = ("0", "0", "400")
WORKER_DEATHS: Final = (0.0, 0.0, 0.2)


def stage_cluster(chance: Chance, spec: ClusterSpec) -> ClusterSpec:
    """The same cluster, with one reason to read batches or several of them."""
    kept, *others = spec.topics
    asked = _reasons(chance, KEYED)
    keys = KEYS if "cleanup.policy" in asked else 0
    return replace(
        spec,
        topics=(_asking(kept, asked), *others),
        producers=tuple(replace(plan, keys=keys) for plan in spec.producers),
        disk=_with_workers(chance, spec.disk),
        settings={**spec.settings, **_bounds(chance)},
    )


def stage_node(chance: Chance, spec: Spec) -> Spec:
    """The same node. Its compacted topic, if it has one, asks anyway; one of the others has a reason of its own."""
    topics = spec.workload.topics
    asking = chance.pick([topic for topic in topics if "cleanup.policy" not in topic.configs])
    asked = _reasons(chance)
    return replace(
        spec,
        workload=replace(
            spec.workload, topics=tuple(_asking(topic, asked) if topic is asking else topic for topic in topics)
        ),
        disk=_with_workers(chance, spec.disk),
        settings={**spec.settings, **_bounds(chance)},
    )


def _reasons(chance: Chance, *more: dict[str, str]) -> dict[str, str]:
    """What a topic asks for: at least one thing for which its batches must be read."""
    reasons = [{"penstock.batch.validation": "records"}, {"compression.type": chance.pick(CODECS)}, *more]
    first = chance.between(0, len(reasons) - 1)
    return {
        name: value
        for number, reason in enumerate(reasons)
        if number == first or chance.happens(0.3)
        for name, value in reason.items()
    }


def _asking(topic: TopicPlan, asked: dict[str, str]) -> TopicPlan:
    return replace(topic, configs={**topic.configs, **asked})


def _bounds(chance: Chance) -> dict[str, str]:
    return {"penstock.batch.inline.bytes.max": chance.pick(INLINE_BYTES_MAX)}


def _with_workers(chance: Chance, disk: DiskProfile) -> DiskProfile:
    return replace(disk, job_us_max=chance.pick(JOB_US_MAX), worker_deaths=chance.pick(WORKER_DEATHS))
