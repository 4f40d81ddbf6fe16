"""Features (KIP-584): levels of formats and protocols that a whole cluster has agreed on."""

from __future__ import annotations

METADATA_VERSION = "metadata.version"
METADATA_LEVEL = 30
"""4.3-IV0: the record versions that we write."""
METADATA_LEVEL_MIN = 7
"""3.3-IV3, the oldest level that Kafka 4 accepts."""

METADATA_LEVELS_WITH_NEW_RECORDS = frozenset({7, 8, 11, 13, 14, 15, 17, 23, 30})
"""Levels whose records older ones cannot read: below one of them there is no way back."""

KRAFT_VERSION = "kraft.version"
"""How the quorum keeps its voters, in everybody's settings (0) or in the log (1); the quorum's own affair."""
ELR_VERSION = "eligible.leader.replicas.version"
ELR_METADATA_LEVEL_MIN = 23
"""4.0-IV1, the first level whose records can name eligible leaders."""
CONTROLLER_REGISTRATION_LEVEL_MIN = 15
"""3.7-IV0, the first level in which controllers register."""

TRANSACTION_VERSION = "transaction.version"
"""How transactions are kept and ended: 1 has tagged fields in the coordinator's records, 2 bumps the epoch at every end
(KIP-890)."""

GROUP_VERSION = "group.version"
"""Whether groups may have the protocol in which the coordinator assigns (1, KIP-848)."""

SHARE_VERSION = "share.version"
"""Whether groups may be share groups (1, KIP-932)."""

STREAMS_VERSION = "streams.version"
"""Whether groups may be streams groups (1, KIP-1071)."""

BOOTSTRAP_FEATURES: dict[str, int] = {
    METADATA_VERSION: METADATA_LEVEL,
    ELR_VERSION: 1,
    TRANSACTION_VERSION: 2,
    GROUP_VERSION: 1,
    SHARE_VERSION: 1,
    STREAMS_VERSION: 1,
}
"""What a new cluster begins with: the levels that Kafka 4.3 formats a folder with, of the features that we have."""

SUPPORTED_FEATURES: dict[str, tuple[int, int]] = {
    METADATA_VERSION: (METADATA_LEVEL_MIN, METADATA_LEVEL),
    ELR_VERSION: (0, 1),
    KRAFT_VERSION: (0, 1),
    TRANSACTION_VERSION: (0, 2),
    GROUP_VERSION: (0, 1),
    SHARE_VERSION: (0, 1),
    STREAMS_VERSION: (0, 1),
}
"""What a cluster's controllers and brokers can agree on."""
