"""From topic settings to the few precomputed values that the append path compares against."""

from __future__ import annotations

from typing import Final

from penstock.core.base.settings import TopicSettings
from penstock.core.records.codecs import Codec
from penstock.core.records.schema_ids import Demand, demands_of
from penstock.core.records.validate import Rules

_CODECS = {
    "uncompressed": Codec.NONE,
    "gzip": Codec.GZIP,
    "snappy": Codec.SNAPPY,
    "lz4": Codec.LZ4,
    "zstd": Codec.ZSTD,
}


SCHEMALESS_PREFIXES: Final = ("__", "_schemas")
SCHEMALESS_SUFFIX: Final = ".dlq"
"""What is demanded of all topics is not of these: they hold records of the cluster itself, or what fitted nowhere."""


def rules_of(settings: TopicSettings, topic: str = "") -> Rules:
    """`producer` keeps whatever codec a batch came with."""
    return Rules(
        max_message_bytes=settings.max_message_bytes,
        log_append_time=settings.message_timestamp_type == "LogAppendTime",
        before_max_ms=settings.message_timestamp_before_max_ms,
        after_max_ms=settings.message_timestamp_after_max_ms,
        compacted="compact" in settings.cleanup_policy,
        codec=_CODECS.get(settings.compression_type),
        level=settings.compression_level,
        validates=settings.batch_validation == "records",
        records_max=settings.batch_records_max,
        unpacked_bytes_max=settings.batch_unpacked_bytes_max,
        inline_bytes_max=settings.batch_inline_bytes_max,
        demands=_demands(settings, topic),
        diverts=settings.diverts_misfits,
    )


def _demands(settings: TopicSettings, topic: str) -> tuple[Demand, ...]:
    demands = demands_of(settings.key_schema, settings.value_schema)
    if topic.startswith(SCHEMALESS_PREFIXES) or topic.endswith(SCHEMALESS_SUFFIX):
        return tuple(each for each in demands if f"penstock.{each.part}.schema.validation" in settings.overrides)
    return demands
