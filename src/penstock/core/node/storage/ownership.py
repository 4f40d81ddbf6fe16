"""Whether a log that does not belong here may be deleted, because the metadata says so, or must be kept for a person.

The metadata may have been lost, or may be older than the log: that it does not know a log says nothing. That another
broker has the partition now is a decision, if it was made after all that is in the log.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from penstock.core.metadata.image import TopicImage

UNKNOWN_EPOCH: Final = -1


class Held(NamedTuple):
    """What a folder holds: of which topic and partition, and in which leader epoch its last records were written."""

    topic_id: bytes | None
    partition: int
    epoch: int
    has_records: bool


def why_kept(held: Held, topic: TopicImage | None) -> str | None:
    """Why a log is set aside; None where it may go. `topic` is the one that has its name now."""
    if not held.has_records:
        return None
    if held.topic_id is None:
        return "its folder does not say which topic it belongs to"
    if topic is None:
        return "the metadata knows no topic of its name"
    if topic.id != held.topic_id:
        return "the metadata knows another topic of its name"
    if held.partition >= len(topic):
        return "the metadata knows no such partition of its topic"
    if held.epoch > topic.leader_epochs[held.partition]:
        return "another broker has the partition, but the metadata is older than the records"
    return None
