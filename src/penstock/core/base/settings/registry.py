"""Every setting there is: `BROKER_KEYS`, `TOPIC_KEYS` and `GROUP_KEYS` by name."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from penstock.core.base.settings import standings
from penstock.core.base.settings.key import Key, Scope, Synonym
from penstock.core.base.settings.reader import Synonyms, read_tables
from penstock.core.base.settings.tables import (
    group_overrides,
    groups,
    log,
    network,
    node,
    penstock,
    remote,
    replication,
    security,
    shares,
    topics,
    transactions,
)

_HOUR_MS: Final = 3_600_000
_MINUTE_MS: Final = 60_000


def _same_name(prefix: str, names: str) -> dict[str, tuple[Synonym, ...]]:
    return {name: (Synonym(prefix + name),) for name in names.split()}


# Where a topic setting gets its default from, in order of precedence; the factor turns the unit into milliseconds.
_TOPIC_SYNONYMS: Final = {
    **_same_name("log.", "segment.bytes retention.bytes index.interval.bytes cleanup.policy preallocate"),
    **_same_name("log.", "message.timestamp.type message.timestamp.before.max.ms message.timestamp.after.max.ms"),
    **_same_name("log.", "local.retention.ms local.retention.bytes"),
    **_same_name("log.cleaner.", "delete.retention.ms min.compaction.lag.ms max.compaction.lag.ms"),
    **_same_name("", "min.insync.replicas unclean.leader.election.enable compression.type"),
    **_same_name("", "compression.gzip.level compression.lz4.level compression.zstd.level"),
    **_same_name("", "penstock.acks.required penstock.sealed.compression.type"),
    **_same_name("", "penstock.key.schema.validation penstock.key.subject.name.strategy"),
    **_same_name("", "penstock.value.schema.validation penstock.value.subject.name.strategy"),
    **_same_name("", "penstock.schema.validation.on.failure"),
    **_same_name("", "penstock.batch.validation penstock.batch.records.max penstock.batch.unpacked.bytes.max"),
    "segment.ms": (Synonym("log.roll.ms"), Synonym("log.roll.hours", _HOUR_MS)),
    "segment.jitter.ms": (Synonym("log.roll.jitter.ms"), Synonym("log.roll.jitter.hours", _HOUR_MS)),
    "segment.index.bytes": (Synonym("log.index.size.max.bytes"),),
    "flush.messages": (Synonym("log.flush.interval.messages"),),
    "flush.ms": (Synonym("log.flush.interval.ms"), Synonym("log.flush.scheduler.interval.ms")),
    "retention.ms": (
        Synonym("log.retention.ms"),
        Synonym("log.retention.minutes", _MINUTE_MS),
        Synonym("log.retention.hours", _HOUR_MS),
    ),
    "max.message.bytes": (Synonym("message.max.bytes"),),
    "file.delete.delay.ms": (Synonym("log.segment.delete.delay.ms"),),
    "min.cleanable.dirty.ratio": (Synonym("log.cleaner.min.cleanable.ratio"),),
}
_OF_GROUPS_ONLY: Final = frozenset(
    {
        "penstock.share.on.failure",
        "share.auto.offset.reset",
        "share.isolation.level",
        "share.renew.acknowledge.enable",
    }
)
_GROUP_SYNONYMS: Final = {
    name: (Synonym("group." + name),)
    for name in standings.GROUP
    # These have no broker setting behind them.
    if name not in _OF_GROUPS_ONLY
}
_SYNONYMS: Final[Mapping[Scope, Synonyms]] = {Scope.TOPIC: _TOPIC_SYNONYMS, Scope.GROUP: _GROUP_SYNONYMS}
_BROKER_TABLES: Final = (
    node.TABLE,
    network.TABLE,
    replication.TABLE,
    log.TABLE,
    transactions.TABLE,
    remote.TABLE,
    groups.TABLE,
    shares.TABLE,
    security.TABLE,
    penstock.TABLE,
)


def _keys(scope: Scope, tables: tuple[str, ...], known: standings.Standings) -> Mapping[str, Key]:
    return MappingProxyType(read_tables(scope, tables, known, _SYNONYMS.get(scope, {})))


BROKER_KEYS: Final = _keys(Scope.BROKER, _BROKER_TABLES, standings.BROKER)
TOPIC_KEYS: Final = _keys(Scope.TOPIC, (topics.TABLE,), standings.TOPIC)
GROUP_KEYS: Final = _keys(Scope.GROUP, (group_overrides.TABLE,), standings.GROUP)
