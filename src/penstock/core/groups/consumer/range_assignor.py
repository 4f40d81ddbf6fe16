"""`range`: of each topic, every member gets a row of partitions, and the same row of topics that are alike."""

from __future__ import annotations

from penstock.core.groups.consumer.member import Partitions
from penstock.core.groups.consumer.subject import Subject


def assign_ranges(subject: Subject) -> dict[str, Partitions]:
    ordered = subject.ordered()
    targets: dict[str, dict[bytes, frozenset[int]]] = {member_id: {} for member_id in ordered}
    for topic_id, count in subject.counts.items():
        readers = [member_id for member_id in ordered if topic_id in subject.subscriptions[member_id]]
        first = 0
        for index, member_id in enumerate(readers):
            share = count // len(readers) + (index < count % len(readers))
            if share:
                targets[member_id][topic_id] = frozenset(range(first, first + share))
            first += share
    return dict(targets)
