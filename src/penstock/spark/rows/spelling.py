"""Which options exist, and what somebody meant who wrote one that does not.

Spark's own source passes over names that it does not know, so a stream with `startingOffset` begins at the end without
a word. Names that are near one of ours are refused; others may be Spark's, and are left alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Final

from penstock.spark.rows.settings import NAMES, PREFIX, SettingRefused

OPTIONS: Final = (
    *("subscribe", "subscribePattern", "assign", "topic", "timestampColumn"),
    *("startingOffsets", "startingTimestamp", "startingOffsetsByTimestamp", "startingOffsetsByTimestampStrategy"),
    *("endingOffsets", "endingTimestamp", "endingOffsetsByTimestamp"),
    *("maxOffsetsPerTrigger", "minOffsetsPerTrigger", "maxBytesPerTrigger", "maxTriggerDelay"),
    *("minPartitions", "maxRecordsPerPartition", "failOnDataLoss", "includeHeaders", "columns", "isolation.level"),
    *("fetchOffset.numRetries", "fetchOffset.retryIntervalMs", "partition.metadata.cache.ttl.ms"),
    *("groupIdPrefix", "commitGroup"),
    *("registry", "registry.format", "registry.subject", "registry.version", "registry.schema", "registry.message"),
    *("registry.mode",),
    *("delivery", "queryName", "batchId", "checkpointLocation", "path"),
)
NEAR: Final = 0.8
# Kafka has these too; they are near some of ours, and say nothing here.
_KAFKAS_ALONE: Final = frozenset(
    PREFIX + name
    for name in (
        "sasl.client.callback.handler.class",
        "sasl.oauthbearer.jwks.endpoint.url",
        "sasl.oauthbearer.scope.claim.name",
    )
)
_OURS: Final = {name.lower(): name for name in OPTIONS}
_KAFKAS: Final = {f"{PREFIX}{name}": f"{PREFIX}{name}" for name in NAMES}


def check_spelling(options: Iterable[str]) -> None:
    """Refuse the first name that nothing has, but something has nearly."""
    for name in options:
        if (meant := nearest(name.lower())) is not None:
            raise SettingRefused(f"there is no option {name}: did you mean {meant}?")


def nearest(name: str) -> str | None:
    """The option that was meant by a name in small letters, or None if it exists or is far from all."""
    if name in _OURS or name in _KAFKAS or name in _KAFKAS_ALONE:
        return None
    if name.startswith(PREFIX):
        near = get_close_matches(name.removeprefix(PREFIX), NAMES, 1, NEAR)
        return f"{PREFIX}{near[0]}" if near else None
    if (prefixed := f"{PREFIX}{name}") in _KAFKAS:
        return prefixed
    known = _OURS | _KAFKAS
    return next((known[one] for one in get_close_matches(name, known, 1, NEAR)), None)
