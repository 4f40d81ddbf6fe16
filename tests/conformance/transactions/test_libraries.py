"""Commit, abort, offsets, fencing and timeouts, by each library in its own words."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing

import pytest
from confluent_kafka import Consumer, TopicPartition

from penstock.testing import Broker
from tests.conformance.transactions.client import TIMEOUT_MS, Reader, Refused, Writer, read_until
from tests.conformance.transactions.conftest import EVERYBODY, Place
from tests.waiting import wait_until

pytestmark = [
    pytest.mark.client,
    pytest.mark.slow,
    pytest.mark.parametrize("place", EVERYBODY, indirect=True),
]

END = "end"
"""Written outside of any transaction: what comes before it has been decided."""
ORDERS = ["one", "two", "three"]


@pytest.fixture
def writer(place: Place, name: str) -> Iterator[Callable[[int], Writer]]:
    """Makes instances with one transactional id, and closes them."""
    with ExitStack() as until:

        def make(timeout_ms: int = TIMEOUT_MS) -> Writer:
            made = place.library.writer(place.broker.bootstrap, name, timeout_ms)
            until.callback(made.close)
            return made

        yield make


@pytest.fixture
def reader(place: Place) -> Iterator[Callable[[str], Reader]]:
    with ExitStack() as until:

        def make(topic: str) -> Reader:
            return until.enter_context(closing(place.library.reader(place.broker.bootstrap, topic)))

        yield make


def committed_offset(broker: Broker, group: str, topic: str) -> int:
    """What a reader that waits for open transactions is told."""
    asking = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": group, "isolation.level": "read_committed"})
    try:
        (found,) = asking.committed([TopicPartition(topic, 0)], 20)
    finally:
        asking.close()
    return int(found.offset)


def begin_and_send(writer: Writer, topic: str, value: str) -> None:
    writer.begin()
    writer.send(topic, value)


def test_what_is_committed_is_read_and_nothing_else(
    place: Place, name: str, writer: Callable[..., Writer], reader: Callable[[str], Reader]
) -> None:
    place.broker.create_topic(name)
    one = writer()
    for number in range(6):
        one.begin()
        one.send(name, f"{number}")
        one.send(name, f"{number} again")
        if number % 2:
            one.abort()
        else:
            one.commit()
    place.broker.produce(name, END)
    assert read_until(reader(name), END) == ["0", "0 again", "2", "2 again", "4", "4 again", END]


def test_nobody_reads_past_an_open_transaction(
    place: Place, name: str, writer: Callable[..., Writer], reader: Callable[[str], Reader]
) -> None:
    place.broker.create_topic(name)
    place.broker.produce(name, "before")
    reading, one = reader(name), writer()
    assert read_until(reading, "before") == ["before"]
    one.begin()
    one.send(name, "open")
    place.broker.produce(name, END)
    assert reading.poll() == []
    one.commit()
    assert read_until(reading, END) == ["open", END]


def test_offsets_count_when_their_transaction_does(
    place: Place, name: str, writer: Callable[..., Writer], reader: Callable[[str], Reader]
) -> None:
    source, target = f"{name}-source", f"{name}-target"
    for topic in (source, target):
        place.broker.create_topic(topic)
    place.broker.produce(source, *ORDERS)
    one = writer()
    one.begin()
    one.copy(source, target, name, len(ORDERS))
    one.abort()
    assert committed_offset(place.broker, name, source) < 0
    # The next instance begins where the group has committed: nowhere.
    two = writer()
    two.begin()
    two.copy(source, target, name, len(ORDERS))
    two.commit()
    assert committed_offset(place.broker, name, source) == len(ORDERS)
    place.broker.produce(target, END)
    assert read_until(reader(target), END) == [*ORDERS, END]


def test_a_newer_instance_fences_the_older(
    place: Place, name: str, writer: Callable[..., Writer], reader: Callable[[str], Reader]
) -> None:
    place.broker.create_topic(name)
    older = writer()
    older.begin()
    older.send(name, "older")
    newer = writer()
    with pytest.raises(Refused):
        older.commit()
    newer.begin()
    newer.send(name, "newer")
    newer.commit()
    place.broker.produce(name, END)
    assert read_until(reader(name), END) == ["newer", END]


def test_a_fenced_instance_cannot_write(
    place: Place, name: str, writer: Callable[..., Writer], reader: Callable[[str], Reader]
) -> None:
    place.broker.create_topic(name)
    older = writer()
    older.begin()
    older.send(name, "in time")
    older.commit()
    newer = writer()
    newer.begin()
    newer.send(name, "newer")
    with pytest.raises(Refused):
        begin_and_send(older, name, "late")
    newer.commit()
    place.broker.produce(name, END)
    assert read_until(reader(name), END) == ["in time", "newer", END]


def test_a_transaction_that_takes_too_long_is_aborted(
    place: Place, name: str, writer: Callable[..., Writer], reader: Callable[[str], Reader]
) -> None:
    place.broker.create_topic(name)
    slow = writer(timeout_ms=1000)
    slow.begin()
    slow.send(name, "too late")
    place.broker.produce(name, END)
    assert read_until(reader(name), END) == [END]
    with pytest.raises(Refused):
        slow.commit()
    again = writer()
    again.begin()
    again.send(name, "again")
    again.commit()
    wait_until(lambda: read_until(reader(name), "again") == [END, "again"])
