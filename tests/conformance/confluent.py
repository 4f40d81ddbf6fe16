"""librdkafka's clients with short timeouts, and the loops that every test of them needs."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from penstock.testing import Broker

DEADLINE_S = 20.0


def producer(broker: Broker, **settings: Any) -> Producer:
    return Producer({"bootstrap.servers": broker.bootstrap, "linger.ms": 0, **dotted(settings)})


def admin(broker: Broker) -> AdminClient:
    return AdminClient({"bootstrap.servers": broker.bootstrap})


@contextmanager
def consumer(broker: Broker, group: str = "nobody", **settings: Any) -> Iterator[Consumer]:
    """Closed at the end, which makes it leave its group."""
    made = Consumer(
        {
            "bootstrap.servers": broker.bootstrap,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "session.timeout.ms": 6000,
            "heartbeat.interval.ms": 100,
            "fetch.wait.max.ms": 50,
            **dotted(settings),
        }
    )
    try:
        yield made
    finally:
        made.close()


def dotted(settings: dict[str, Any]) -> dict[str, Any]:
    return {key.replace("_", "."): value for key, value in settings.items()}


def send(client: Producer, topic: str, value: bytes | None, **more: Any) -> Message:
    """One record and its acknowledgement, which may be a failure."""
    reports: list[tuple[KafkaError | None, Message]] = []
    client.produce(topic, value, on_delivery=lambda error, message: reports.append((error, message)), **more)
    client.flush(DEADLINE_S)
    ((_, message),) = reports
    return message


def send_well(client: Producer, topic: str, value: bytes | None, **more: Any) -> Message:
    message = send(client, topic, value, **more)
    assert message.error() is None, message.error()
    return message


def read(client: Consumer, count: int) -> list[Message]:
    """Exactly as many records, in the order they came."""
    found: list[Message] = []
    deadline = time.monotonic() + DEADLINE_S
    while len(found) < count:
        assert time.monotonic() < deadline, f"{len(found)} of {count} records came"
        message = client.poll(0.1)
        if message is not None:
            assert message.error() is None, message.error()
            found.append(message)
    return found


def read_from_start(broker: Broker, topic: str, count: int, **settings: Any) -> list[Message]:
    with consumer(broker, **settings) as client:
        client.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
        return read(client, count)


def poll_once(*clients: Consumer) -> list[Message]:
    """What the members have now."""
    found = [message for message in (client.poll(0.02) for client in clients) if message is not None]
    assert not any(message.error() for message in found), [message.error() for message in found]
    return found


def poll_until(clients: list[Consumer], condition: Callable[[], bool], what: str) -> None:
    """Keep members alive until something has happened to them."""
    deadline = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < deadline, f"{what} did not happen"
        poll_once(*clients)


def owned(*clients: Consumer) -> list[list[int]]:
    """The partitions each member owns."""
    return [sorted(place.partition for place in client.assignment()) for client in clients]


def is_spread(partitions: int, *clients: Consumer) -> bool:
    """Whether each partition has exactly one owner and each member its share."""
    shares = owned(*clients)
    fair = partitions // len(clients)
    return sorted(chain(*shares)) == list(range(partitions)) and all(len(share) == fair for share in shares)
