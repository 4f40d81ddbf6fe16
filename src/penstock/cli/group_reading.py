"""Reading as a member of a group: membership is the work of a full client, which is loaded only for this."""

from __future__ import annotations

from collections.abc import Generator
from itertools import islice
from typing import TYPE_CHECKING

from penstock.cli.talk import Refused, say
from penstock.client.errors import ClientError
from penstock.client.metadata import TopicPartition
from penstock.client.offsets import READ_COMMITTED
from penstock.core.records.record import Record

if TYPE_CHECKING:
    from confluent_kafka import Consumer, Message

POLL_SECONDS = 0.2


def read_as_group(
    bootstrap: str, group: str, topics: list[str], from_: str, follow: bool, isolation: int, count: int | None
) -> Generator[tuple[TopicPartition, Record]]:
    """The group's next records. One counts as done, and may be committed, once the next one is asked for."""
    if from_ not in ("earliest", "latest"):
        raise Refused(
            "a group continues where it is: --from takes only earliest or latest, for partitions it has not begun",
            f"move it with: penstock group reset {group} --topic {topics[0]} --to {from_} --execute",
        )
    consumer = _consumer(bootstrap, group, from_, follow, isolation)
    try:
        for message in islice(_messages(consumer, group, topics), count):
            yield _found(message)
            consumer.store_offsets(message)
    finally:
        _leave(consumer, group)


def _consumer(bootstrap: str, group: str, from_: str, follow: bool, isolation: int) -> Consumer:
    from confluent_kafka import Consumer

    return Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "client.id": "penstock-cli",
            "auto.offset.reset": from_,
            # Stored offsets are committed in the background; they are stored by us, once a record is printed.
            "enable.auto.commit": True,
            "enable.auto.offset.store": False,
            "enable.partition.eof": not follow,
            "isolation.level": "read_committed" if isolation == READ_COMMITTED else "read_uncommitted",
            "log_level": 0,
        }
    )


def _messages(consumer: Consumer, group: str, topics: list[str]) -> Generator[Message]:
    """What the group gives this member, until every partition it holds is read to its end."""
    from confluent_kafka import KafkaError

    ended: set[tuple[str | None, int | None]] = set()
    consumer.subscribe(topics, on_assign=lambda *_: ended.clear())
    while True:
        message = consumer.poll(POLL_SECONDS)
        if message is None:
            continue
        where, error = (message.topic(), message.partition()), message.error()
        if error is None:
            ended.discard(where)
            yield message
        elif error.code() == KafkaError._PARTITION_EOF:
            ended.add(where)
            if len(ended) == len(consumer.assignment()):
                return
        elif error.fatal() or not error.retriable():
            raise ClientError(f"group {group}: {error.str()}")
        else:
            say(f"group {group}: {error.str()}; trying again")


def _leave(consumer: Consumer, group: str) -> None:
    from confluent_kafka import KafkaError, KafkaException

    try:
        consumer.commit(asynchronous=False)
    except KafkaException as failure:
        error: KafkaError = failure.args[0]
        if error.code() != KafkaError._NO_OFFSET:
            raise ClientError(f"group {group} could not commit: {error.str()}") from None
    finally:
        consumer.close()


def _found(message: Message) -> tuple[TopicPartition, Record]:
    """A record out of the other client's message, which has a place because it carries no error."""
    where = TopicPartition(str(message.topic()), int(message.partition() or 0))
    _, timestamp = message.timestamp()
    headers = tuple((str(header[0]), _bytes(header[1])) for header in message.headers() or ())
    return where, Record(int(message.offset() or 0), timestamp, _bytes(message.key()), _bytes(message.value()), headers)


def _bytes(content: str | bytes | None) -> bytes | None:
    return content.encode() if isinstance(content, str) else content
