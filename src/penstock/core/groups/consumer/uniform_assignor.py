"""`uniform`: everybody has the same number of partitions, or one more, and keeps what he has where that allows it.

Where all read the same topics, quotas say how many each may keep. Where they do not, partitions are given, those with
the fewest readers first, to the reader that has the least; and moved as long as that makes two readers more alike.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from heapq import heapify, heappop, heappush

from penstock.core.groups.consumer.member import Partitions, TopicIdPartition
from penstock.core.groups.consumer.subject import Subject

Held = dict[str, set[TopicIdPartition]]


def assign_uniformly(subject: Subject) -> dict[str, Partitions]:
    ordered = subject.ordered()
    held = _kept(subject, ordered)
    if len(set(subject.subscriptions.values())) <= 1:
        _share_alike(subject, ordered, held)
    else:
        _share_by_readers(subject, ordered, held)
    return {member_id: _by_topic(held[member_id]) for member_id in ordered}


def _kept(subject: Subject, ordered: list[str]) -> Held:
    """What each had, reads and still exists; a partition that two had goes to the first of them."""
    taken: set[TopicIdPartition] = set()
    held: Held = {}
    for member_id in ordered:
        held[member_id] = set()
        for topic_id, partitions in subject.before.get(member_id, {}).items():
            if topic_id in subject.subscriptions[member_id]:
                exist = {TopicIdPartition(topic_id, each) for each in partitions if each < subject.counts[topic_id]}
                held[member_id] |= exist - taken
                taken |= exist
    return held


def _free(subject: Subject, held: Held) -> list[TopicIdPartition]:
    taken = set().union(*held.values()) if held else set()
    every = (TopicIdPartition(topic_id, each) for topic_id, count in subject.counts.items() for each in range(count))
    return sorted(where for where in every if where not in taken)


def _share_alike(subject: Subject, ordered: list[str], held: Held) -> None:
    """So many for each, and one more for some: for those first who have more already."""
    if not ordered:
        return
    least, more = divmod(sum(subject.counts.values()), len(ordered))
    by_size = sorted(ordered, key=lambda each: -len(held[each]))
    quotas = {member_id: least + (index < more) for index, member_id in enumerate(by_size)}
    for member_id, quota in quotas.items():
        for where in sorted(held[member_id])[quota:]:
            held[member_id].remove(where)
    free = iter(_free(subject, held))
    for member_id in ordered:
        for _ in range(quotas[member_id] - len(held[member_id])):
            held[member_id].add(next(free))


def _share_by_readers(subject: Subject, ordered: list[str], held: Held) -> None:
    readers = {
        topic_id: [member_id for member_id in ordered if topic_id in subject.subscriptions[member_id]]
        for topic_id in subject.counts
    }
    for topic_id in sorted(subject.counts, key=lambda each: (len(readers[each]), each)):
        free = (where for where in _free(subject, held) if where.topic_id == topic_id)
        _give(readers[topic_id], free, held)
    # Each move makes the sum of squares smaller, so that this ends.
    while _has_evened_out(readers, held):
        pass


def _give(readers: list[str], free: Iterable[TopicIdPartition], held: Held) -> None:
    """Each to whoever has the least."""
    heap = [(len(held[member_id]), index) for index, member_id in enumerate(readers)]
    heapify(heap)
    for where in free:
        count, index = heappop(heap)
        held[readers[index]].add(where)
        heappush(heap, (count + 1, index))


def _has_evened_out(readers: dict[bytes, list[str]], held: Held) -> bool:
    """One round over the topics; gives whether something was moved."""
    has_moved = False
    for topic_id, those in readers.items():
        if len(those) < 2:
            continue
        least = min(those, key=lambda each: len(held[each]))
        most = max(
            (each for each in those if any(where.topic_id == topic_id for where in held[each])),
            key=lambda each: len(held[each]),
            default=least,
        )
        if len(held[most]) > len(held[least]) + 1:
            where = max(where for where in held[most] if where.topic_id == topic_id)
            held[most].remove(where)
            held[least].add(where)
            has_moved = True
    return has_moved


def _by_topic(held: set[TopicIdPartition]) -> Partitions:
    found: defaultdict[bytes, set[int]] = defaultdict(set)
    for topic_id, partition in held:
        found[topic_id].add(partition)
    return {topic_id: frozenset(partitions) for topic_id, partitions in found.items()}
