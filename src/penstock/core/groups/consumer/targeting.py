"""The target assignment: made anew when the group has changed, not more often than an interval allows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from penstock.core.groups.consumer.assignors import ASSIGNORS
from penstock.core.groups.consumer.group import ConsumerGroup
from penstock.core.groups.consumer.member import ConsumerMember, Partitions
from penstock.core.groups.consumer.records import target_epoch_record, target_record
from penstock.core.groups.consumer.subject import Subject
from penstock.core.groups.topics import TopicLookup
from penstock.core.groups.turn import Turn


def is_due(turn: Turn, group: ConsumerGroup) -> bool:
    """Members that come one after the other are one change."""
    made_ms = group.assignment_ms
    interval_ms = turn.settings.consumer(group.group_id).assignment_interval_ms
    return made_ms is None or not made_ms <= turn.now_ms < made_ms + interval_ms


def retarget(
    turn: Turn, topics: TopicLookup, group: ConsumerGroup, epoch: int, members: Mapping[str, ConsumerMember]
) -> dict[str, Partitions]:
    """Make the target of these members, and write down what is new in it."""
    targets = ASSIGNORS[_assignor(turn, members)](_subject(topics, group, members))
    for member_id, target in targets.items():
        if target != group.targets.get(member_id):
            turn.result.records.append(target_record(group.group_id, member_id, target))
    turn.result.records.append(target_epoch_record(group.group_id, epoch, turn.now_ms))
    return targets


def topic_ids(topics: TopicLookup, names: Iterable[str]) -> frozenset[bytes]:
    """Of those that exist."""
    return frozenset(found for found in map(topics.id_of, names) if found is not None)


def _assignor(turn: Turn, members: Mapping[str, ConsumerMember]) -> str:
    """The one that most of those who have a wish want."""
    wishes = Counter(each.assignor for each in members.values() if each.assignor in turn.settings.consumer_assignors)
    (best, _), *_ = [*wishes.most_common(1), (turn.settings.consumer_assignors[0], 0)]
    assert best is not None, "a wish is one of the assignors"
    return best


def _subject(topics: TopicLookup, group: ConsumerGroup, members: Mapping[str, ConsumerMember]) -> Subject:
    names = {topic for member in members.values() for topic in group.topics_of(member)}
    counts = {found: topics.partition_count(name) or 0 for name in sorted(names) if (found := topics.id_of(name))}
    return Subject(
        subscriptions={each.member_id: topic_ids(topics, group.topics_of(each)) for each in members.values()},
        instances={each.member_id: each.instance_id for each in members.values() if each.instance_id is not None},
        counts=counts,
        before=group.targets,
    )
