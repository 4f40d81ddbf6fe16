"""What a topic's settings promise, as far as the model must know it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

FOR_EVER: Final = -1


@dataclass(frozen=True, slots=True)
class TopicRules:
    """Kafka's promise, unless a setting says otherwise."""

    synced: bool = False  # Acknowledgements survive power loss, because each append is synced first.
    compacted: bool = False  # Only the last record of each key is sure to stay.
    retention_ms: int = FOR_EVER
    retention_bytes: int = FOR_EVER
    segment_bytes: int = 0


def rules_of(configs: Mapping[str, str]) -> TopicRules:
    """The rules of a topic that was created with these settings."""
    return TopicRules(
        synced=configs.get("flush.messages") == "1",
        compacted=configs.get("cleanup.policy") == "compact",
        retention_ms=int(configs.get("retention.ms", FOR_EVER)),
        retention_bytes=int(configs.get("retention.bytes", FOR_EVER)),
        segment_bytes=int(configs.get("internal.segment.bytes", 0)),
    )
