"""The settings of one topic, resolved once: what the topic says, else what its broker says, else the default."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from penstock.core.base.settings.broker import BrokerSettings
from penstock.core.base.settings.key import SettingError
from penstock.core.base.settings.registry import TOPIC_KEYS
from penstock.core.base.settings.values import parse_value

_LEVELS: Final = {"gzip", "lz4", "zstd"}


class TopicSettings:
    """Plain attributes, computed once, for code that reads them on every request."""

    __slots__ = (
        "acks_required",
        "batch_inline_bytes_max",
        "batch_records_max",
        "batch_unpacked_bytes_max",
        "batch_validation",
        "cleanup_policy",
        "compression_level",
        "compression_type",
        "delete_retention_ms",
        "diverts_misfits",
        "file_delete_delay_ms",
        "flush_messages",
        "flush_ms",
        "index_interval_bytes",
        "key_schema",
        "max_compaction_lag_ms",
        "max_message_bytes",
        "message_timestamp_after_max_ms",
        "message_timestamp_before_max_ms",
        "message_timestamp_type",
        "min_cleanable_dirty_ratio",
        "min_compaction_lag_ms",
        "min_insync_replicas",
        "overrides",
        "preallocate",
        "retention_bytes",
        "retention_ms",
        "sealed_compression_level",
        "sealed_compression_type",
        "segment_bytes",
        "segment_index_bytes",
        "segment_jitter_ms",
        "segment_ms",
        "unclean_leader_election_enable",
        "value_schema",
    )

    def __init__(self, broker: BrokerSettings, overrides: Mapping[str, str]) -> None:
        values = resolve_topic(broker.topic_defaults, overrides)
        self.overrides = overrides
        self._set_segments(values)
        self._set_cleanup(values)
        self._set_records(values)
        self._set_batches(values, broker)
        # How schemas are demanded, and by which strategy their subjects are named.
        self.key_schema = _schema(values, "key")
        self.value_schema = _schema(values, "value")
        self.diverts_misfits: bool = values["penstock.schema.validation.on.failure"] == "dlq"
        self.flush_messages: int = values["flush.messages"]
        self.flush_ms: int = values["flush.ms"]
        self.min_insync_replicas: int = values["min.insync.replicas"]
        self.acks_required: str = values["penstock.acks.required"]
        self.unclean_leader_election_enable: bool = values["unclean.leader.election.enable"]

    def _set_segments(self, values: Mapping[str, Any]) -> None:
        internal_bytes = values["internal.segment.bytes"]
        self.segment_bytes: int = values["segment.bytes"] if internal_bytes is None else internal_bytes
        self.segment_ms: int = values["segment.ms"]
        self.segment_jitter_ms: int = values["segment.jitter.ms"]
        self.segment_index_bytes: int = values["segment.index.bytes"]
        self.index_interval_bytes: int = values["index.interval.bytes"]
        self.file_delete_delay_ms: int = values["file.delete.delay.ms"]
        self.preallocate: bool = values["preallocate"]

    def _set_cleanup(self, values: Mapping[str, Any]) -> None:
        self.cleanup_policy: frozenset[str] = frozenset(values["cleanup.policy"])
        self.retention_ms: int = values["retention.ms"]
        self.retention_bytes: int = values["retention.bytes"]
        self.delete_retention_ms: int = values["delete.retention.ms"]
        self.min_compaction_lag_ms: int = values["min.compaction.lag.ms"]
        self.max_compaction_lag_ms: int = values["max.compaction.lag.ms"]
        self.min_cleanable_dirty_ratio: float = values["min.cleanable.dirty.ratio"]

    def _set_records(self, values: Mapping[str, Any]) -> None:
        self.compression_type: str = values["compression.type"]
        self.compression_level = _level(values, self.compression_type)
        self.sealed_compression_type: str = values["penstock.sealed.compression.type"]
        self.sealed_compression_level = _level(values, self.sealed_compression_type)
        self.max_message_bytes: int = values["max.message.bytes"]
        self.message_timestamp_type: str = values["message.timestamp.type"]
        self.message_timestamp_before_max_ms: int = values["message.timestamp.before.max.ms"]
        self.message_timestamp_after_max_ms: int = values["message.timestamp.after.max.ms"]

    def _set_batches(self, values: Mapping[str, Any], broker: BrokerSettings) -> None:
        self.batch_validation: str = values["penstock.batch.validation"]
        self.batch_records_max: int = values["penstock.batch.records.max"]
        self.batch_unpacked_bytes_max: int = values["penstock.batch.unpacked.bytes.max"]
        self.batch_inline_bytes_max: int = broker["penstock.batch.inline.bytes.max"]

    @property
    def is_compacted(self) -> bool:
        return "compact" in self.cleanup_policy

    @property
    def roll_ms(self) -> int:
        """The age at which a segment closes: a compacted one early enough for its records' longest wait."""
        return min(self.max_compaction_lag_ms, self.segment_ms) if self.is_compacted else self.segment_ms


def _schema(values: Mapping[str, Any], part: str) -> tuple[str, str]:
    return values[f"penstock.{part}.schema.validation"], values[f"penstock.{part}.subject.name.strategy"]


def _level(values: Mapping[str, Any], codec: str) -> int | None:
    return values[f"compression.{codec}.level"] if codec in _LEVELS else None


def resolve_topic(defaults: Mapping[str, Any], overrides: Mapping[str, str]) -> dict[str, Any]:
    """Every topic setting, typed; a SettingError names an unknown name or a bad value."""
    for name in overrides:
        if name not in TOPIC_KEYS:
            raise SettingError(f"Unknown topic config name: {name}")
    return {**defaults, **{name: parse_value(TOPIC_KEYS[name], text) for name, text in overrides.items()}}


_BARE_DEFAULTS: Final = {name: key.default for name, key in TOPIC_KEYS.items()}


def validate_topic_overrides(overrides: Mapping[str, str], broker: BrokerSettings | None = None) -> None:
    """What CreateTopics and AlterConfigs check; the broker's defaults count where the topic is silent."""
    values = resolve_topic(_BARE_DEFAULTS if broker is None else broker.topic_defaults, overrides)
    low, high = values["min.compaction.lag.ms"], values["max.compaction.lag.ms"]
    if low > high:
        raise SettingError(
            f"conflict topic config setting min.compaction.lag.ms ({low}) > max.compaction.lag.ms ({high})"
        )
    if values["remote.storage.enable"]:
        raise SettingError(
            "Tiered Storage functionality is disabled in the broker. "
            "Topic cannot be configured with remote log storage."
        )
