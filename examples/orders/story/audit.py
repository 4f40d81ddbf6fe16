"""The count at the end: every order that was acknowledged is in every branch, or among its dead letters.

The topics are read from their beginning by a plain Kafka client; what the pipelines say of themselves does not count.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, Message, TopicPartition
from rich.table import Table

from examples.orders import topics

ANSWER_S_MAX = 20.0
POLL_S = 0.1
CHUNK = 5_000


@dataclass(frozen=True)
class Produced:
    """What the shop knows: orders, rubbish in the place of orders, and how many of both the log has acknowledged."""

    orders: int
    poison: int
    acknowledged: int


@dataclass(frozen=True)
class Count:
    """What one branch made of it."""

    branch: str
    orders: int
    dead_letters: int
    repeated: int = 0

    def is_complete(self, produced: Produced) -> bool:
        return (self.orders, self.dead_letters) == (produced.orders, produced.poison)


def count(address: str, branch: str) -> Count:
    """Orders by their ids: a branch that was killed may write one twice (at least once), and never leave one out."""
    dead_letters = len({message.key() for message in read(address, f"{branch}.dlq")})
    if branch == "analytics":
        return Count(branch, orders_in_all_minutes(address), dead_letters)
    if branch == "status":
        return Count(branch, len({message.key() for message in read(address, topics.ORDER_STATUS)}), dead_letters)
    ids = [message.key() for message in read(address, branch)]
    return Count(branch, len(set(ids)), dead_letters, repeated=len(ids) - len(set(ids)))


def orders_in_all_minutes(address: str) -> int:
    """The newest count of each city and minute, added up."""
    newest = {message.key(): message.value() for message in read(address, topics.CITY_MINUTES)}
    return sum(json.loads(value or b"")["orders"] for value in newest.values())


def read(address: str, topic: str) -> Iterator[Message]:
    """Every record of a topic as it is now; of one that does not exist, none."""
    consumer = Consumer(
        {"bootstrap.servers": address, "group.id": "audit", "enable.auto.commit": False, "enable.partition.eof": True}
    )
    unread = set(consumer.list_topics(topic, ANSWER_S_MAX).topics[topic].partitions)
    consumer.assign([TopicPartition(topic, partition, OFFSET_BEGINNING) for partition in unread])
    while unread:
        for message in consumer.consume(CHUNK, POLL_S):
            if message.error() is None:
                yield message
            elif message.error().code() == KafkaError._PARTITION_EOF:
                unread.discard(message.partition())
    consumer.close()


def table(produced: Produced, counts: list[Count]) -> Table:
    made = Table("branch", "orders", "dead letters", "together", "written twice", "verdict")
    made.add_row("acknowledged", *_texts(produced.orders, produced.poison, produced.acknowledged), style="bold")
    for one in counts:
        verdict = "[green]complete[/]" if one.is_complete(produced) else "[red]WRONG[/]"
        numbers = _texts(one.orders, one.dead_letters, one.orders + one.dead_letters, one.repeated)
        made.add_row(one.branch, *numbers, verdict)
    return made


def _texts(*numbers: int) -> Iterator[str]:
    return (f"{number:,}" for number in numbers)
