"""Share groups as the leaders of what they read see them."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.core.node.node import Node
from penstock.shell.exposition.families import COUNTER, GAUGE, Family, labels, single


def sharing_families(node: Node) -> Iterator[Family]:
    sharing = node.sharing
    counts = sharing.counts
    yield single("penstock_share_sessions", GAUGE, "Members of share groups that read here.", len(sharing.sessions))
    text = "Partitions as share groups read them here."
    yield single("penstock_share_partitions", GAUGE, text, sharing.share_count)
    text = "Records that are in flight in them."
    yield single("penstock_share_records_in_flight", GAUGE, text, sharing.records_in_flight)
    text = "Records that members of share groups got."
    yield single("penstock_share_records_acquired_total", COUNTER, text, counts.acquired)
    text = "Records whose locks ran out before anybody said what became of them."
    yield single("penstock_share_locks_expired_total", COUNTER, text, counts.expired)
    text = "Records that were given up, and are dead letters."
    yield single("penstock_share_dead_letters_total", COUNTER, text, counts.buried)
    text = "Records of which a member said what became of them, by what that was."
    yield Family(
        "penstock_share_records_acknowledged_total",
        COUNTER,
        text,
        ((labels(type=kind), count) for kind, count in counts.by_kind().items()),
    )
