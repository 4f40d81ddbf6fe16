"""From topic settings to the few precomputed values that the append path compares against."""

from __future__ import annotations

from penstock.core.base.settings import TopicSettings
from penstock.core.records.codecs import Codec
from penstock.core.records.validate import Rules

_CODECS = {
    "uncompressed": Codec.NONE,
    "gzip": Codec.GZIP,
    "snappy": Codec.SNAPPY,
    "lz4": Codec.LZ4,
    "zstd": Codec.ZSTD,
}


def rules_of(settings: TopicSettings) -> Rules:
    """`producer` keeps whatever codec a batch came with."""
    return Rules(
        max_message_bytes=settings.max_message_bytes,
        log_append_time=settings.message_timestamp_type == "LogAppendTime",
        before_max_ms=settings.message_timestamp_before_max_ms,
        after_max_ms=settings.message_timestamp_after_max_ms,
        compacted="compact" in settings.cleanup_policy,
        codec=_CODECS.get(settings.compression_type),
        level=settings.compression_level,
    )
