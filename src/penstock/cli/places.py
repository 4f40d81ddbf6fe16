"""Places in topics as people name them: `orders`, `orders:0,2`, and where a moment lies in each partition."""

from collections.abc import Mapping
from datetime import datetime

import typer

from penstock.cli.arguments import timestamp_ms
from penstock.client.blocking import Client
from penstock.client.metadata import TopicPartition
from penstock.client.offsets import NO_OFFSET, list_offsets

Edges = Mapping[TopicPartition, tuple[int, int]]


def named_places(client: Client, text: str, option: str) -> list[TopicPartition]:
    """TOPIC means all its partitions, TOPIC:0,2 those."""
    topic, chosen = split_place(text, option)
    known = client.topic(topic)
    count = len(known.partitions)
    if chosen is None:
        return [TopicPartition(topic, number) for number in range(count)]
    if not all(number < count for number in chosen):
        numbers = text.partition(":")[2]
        raise typer.BadParameter(f"{numbers!r} are not partitions of {topic}: {known.numbers}", param_hint=option)
    return [TopicPartition(topic, number) for number in chosen]


def split_place(text: str, option: str = "--topic") -> tuple[str, list[int] | None]:
    """A topic, and the partitions that are named with it."""
    topic, colon, numbers = text.partition(":")
    if not colon:
        return topic, None
    if not all(number.isdecimal() for number in numbers.split(",")):
        raise typer.BadParameter(f"{numbers!r} are not partitions, such as 0,1", param_hint=option)
    return topic, sorted({int(number) for number in numbers.split(",")})


def offsets_at(client: Client, edges: Edges, moment: str, option: str, choices: str) -> dict[TopicPartition, int]:
    """The first offset of each partition that is not older than a moment: its end where all records are older."""
    moment_ms = timestamp_ms(moment, datetime.now())
    if moment_ms is None:
        raise typer.BadParameter(f"{moment!r} is neither {choices}", param_hint=option)
    found = list_offsets(client, dict.fromkeys(edges, moment_ms))
    return {
        where: end if found[where].offset == NO_OFFSET else found[where].offset for where, (_, end) in edges.items()
    }
