"""Partitions and offsets as options and checkpoints write them: the JSON of Spark's Kafka source.

A checkpoint of `format("kafka")` holds `{"orders":{"0":23,"1":7}}`, the next offset of each partition. What is read
and written here is the same, so a query keeps its place when its format changes, in both directions.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from penstock.client.metadata import TopicPartition
from penstock.spark.source.errors import OptionError

Offsets = Mapping[TopicPartition, int]
PARTITION_MAX = 2**31 - 1
OFFSET_MAX = 2**63 - 1


def to_checkpoint(offsets: Offsets) -> dict[str, dict[str, int]]:
    """Ordered by topic and partition: Spark compares offsets by their text."""
    topics: dict[str, dict[str, int]] = {}
    for where in sorted(offsets):
        topics.setdefault(where.topic, {})[str(where.partition)] = offsets[where]
    return topics


def from_checkpoint(topics: Mapping[str, Mapping[str, int]]) -> dict[TopicPartition, int]:
    return {
        TopicPartition(topic, int(number)): offset
        for topic, partitions in topics.items()
        for number, offset in partitions.items()
    }


def parse_offsets(option: str, text: str) -> dict[TopicPartition, int]:
    """An option like `{"orders":{"0":23,"1":-1}}`; the numbers may be times as well."""
    topics = _topics(text)
    if topics is not None and all(_is_numbered(partitions) for partitions in topics.values()):
        return from_checkpoint(topics)
    raise OptionError(f'{option} expects e.g. {{"topicA":{{"0":23,"1":-1}},"topicB":{{"0":-2}}}}, got {text}')


def parse_partitions(option: str, text: str) -> frozenset[TopicPartition]:
    """An option like `{"orders":[0,1]}`."""
    topics = _topics(text)
    if topics is not None and all(_is_list_of_partitions(numbers) for numbers in topics.values()):
        return frozenset(TopicPartition(topic, number) for topic, numbers in topics.items() for number in numbers)
    raise OptionError(f'{option} expects e.g. {{"topicA":[0,1],"topicB":[0,1]}}, got {text}')


def listed(places: Iterable[TopicPartition]) -> str:
    """For a message: the places in order."""
    return ", ".join(map(str, sorted(places))) or "none"


def _topics(text: str) -> dict[str, Any] | None:
    try:
        found = json.loads(text)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _is_numbered(partitions: object) -> bool:
    return isinstance(partitions, dict) and all(
        number.isdecimal() and int(number) <= PARTITION_MAX and _is_whole(offset, OFFSET_MAX)
        for number, offset in partitions.items()
    )


def _is_list_of_partitions(numbers: object) -> bool:
    return isinstance(numbers, list) and all(_is_whole(number, PARTITION_MAX) and number >= 0 for number in numbers)


def _is_whole(number: object, largest: int) -> bool:
    return isinstance(number, int) and not isinstance(number, bool) and -largest <= number <= largest
