"""Topics for a round: made before it, gone after it, with the memory they held."""

import itertools
import time
from collections.abc import Iterator
from contextlib import contextmanager

from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec

from bench.brokers import Broker

ADMIN_TIMEOUT_S = 120.0
DELETE_TIMEOUT_S = 30.0
POLL_INTERVAL_S = 0.1

_numbers = itertools.count(1)


@contextmanager
def topic(broker: Broker, partitions: int, config: dict[str, str] | None = None) -> Iterator[str]:
    """A topic that exists for the length of a `with` block."""
    name = f"bench-{next(_numbers)}"
    if not broker.has_topics:
        broker.start()
        try:
            yield name
        finally:
            broker.stop()
        return
    admin = AdminClient({"bootstrap.servers": f"127.0.0.1:{broker.port}"})
    new = NewTopic(name, num_partitions=partitions, replication_factor=1, config=config or {})
    admin.create_topics([new], operation_timeout=ADMIN_TIMEOUT_S, request_timeout=ADMIN_TIMEOUT_S)[name].result()
    _wait_for_leaders(admin, name, partitions)
    try:
        yield name
    finally:
        admin.delete_topics([name], operation_timeout=ADMIN_TIMEOUT_S, request_timeout=ADMIN_TIMEOUT_S)[name].result()
        _wait_until_gone(broker, name)


def _wait_for_leaders(admin: AdminClient, name: str, partitions: int) -> None:
    """Metadata names a leader a moment before the leader knows; asking it for its end offset settles that."""
    deadline = time.monotonic() + ADMIN_TIMEOUT_S
    wanted = {TopicPartition(name, number): OffsetSpec.latest() for number in range(partitions)}
    while time.monotonic() < deadline:
        answers = admin.list_offsets(wanted, request_timeout=ADMIN_TIMEOUT_S)
        if all(answer.exception() is None for answer in answers.values()):
            return
        time.sleep(POLL_INTERVAL_S)
    raise TimeoutError(f"{name} has no leaders")


def _wait_until_gone(broker: Broker, name: str) -> None:
    """Deletion happens later; the next round must not start while it does."""
    deadline = time.monotonic() + DELETE_TIMEOUT_S
    while any(broker.data_dir.glob(f"{name}-*")) and time.monotonic() < deadline:
        time.sleep(POLL_INTERVAL_S)
