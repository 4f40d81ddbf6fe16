"""Features (KIP-584): levels of formats and protocols that a whole cluster has agreed on."""

from __future__ import annotations

METADATA_VERSION = "metadata.version"
METADATA_LEVEL = 30
"""4.3-IV0: the record versions that we write."""
METADATA_LEVEL_MIN = 7
"""3.3-IV3, the oldest level that Kafka 4 accepts."""

SUPPORTED_FEATURES: dict[str, tuple[int, int]] = {METADATA_VERSION: (METADATA_LEVEL_MIN, METADATA_LEVEL)}
