"""The count at the end: every order that was acknowledged is in every branch, or among its dead letters.

The topics are read from their beginning by a plain Kafka client, read_committed as everybody must be who reads what is
written exactly once; what the pipelines say of themselves does not count.
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
        """Everything is there, and nothing twice."""
        return (self.orders, self.dead_letters, self.repeated) == (produced.orders, produced.poison, 0)


def count(address: str, branch: str) -> Count:
    """Orders by their ids, and how many orders and dead letters are there again."""
    letters = [message.key() for message in read(address, f"{branch}.dlq")]
    dead_letters = len(set(letters))
    again = len(letters) - dead_letters
    if branch == "analytics":
        return Count(branch, orders_in_all_minutes(address), dead_letters, again)
    if branch == "status":
        orders = len({message.key() for message in read(address, topics.ORDER_STATUS)})
        return Count(branch, orders, dead_letters, again)
    ids = [message.key() for message in read(address, branch)]
    return Count(branch, len(set(ids)), dead_letters, repeated=again + len(ids) - len(set(ids)))


def orders_in_all_minutes(address: str) -> int:
    """The newest count of each city and minute, added up."""
    newest = {message.key(): message.value() for message in read(address, topics.CITY_MINUTES)}
    return sum(json.loads(value or b"")["orders"] for value in newest.values())


def read(address: str, topic: str) -> Iterator[Message]:
    """Every record of a topic as it is now; of one that does not exist, none."""
    consumer = Consumer(
        {
            "bootstrap.servers": address,
            "group.id": "audit",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "isolation.level": "read_committed",
        }
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
