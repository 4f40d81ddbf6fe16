"""Clusters whose topic is compacted: each replica takes out what later records of the same key have replaced, when its
own time has come, so that replicas differ and still have to agree on the last record of each key."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from penstock.sim.chance import Chance

if TYPE_CHECKING:
    from penstock.sim.cluster_spec import ClusterSpec

KEYS: Final = 60
ACKS_ALL: Final = -1
COMPACTED: Final = {
    "cleanup.policy": "compact",
    "segment.ms": "1000",
    "min.cleanable.dirty.ratio": "0.01",
    "min.compaction.lag.ms": "0",
}
DELETE_RETENTION_MS: Final = ("0", "2000")
"""For how long a tombstone stays."""
OFTEN: Final = {"log.cleaner.backoff.ms": "500"}


def compact_cluster(chance: Chance, spec: ClusterSpec) -> ClusterSpec:
    """The same cluster, with keys. Nobody is promised to see all records, so no group asks for that; and all producers
    want to be sure, because what is only hoped for replaces what is promised."""
    kept, *others = spec.topics
    configs = {**kept.configs, **COMPACTED, "delete.retention.ms": chance.pick(DELETE_RETENTION_MS)}
    return replace(
        spec,
        topics=(replace(kept, configs=configs), *others),
        producers=tuple(replace(plan, keys=KEYS, acks=ACKS_ALL) for plan in spec.producers),
        groups=(),
        members_each=0,
        settings={**spec.settings, **OFTEN},
    )
