"""One trade-off: a question, a table of what was measured, and what its picture shows."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient, NewTopic

from bench.clusters import NODES, PenstockNodes
from bench.loadgen import Figures

ADMIN_TIMEOUT_S = 60.0

_numbers = itertools.count(1)

# One line of a table: what was chosen, and what it cost.
Row = tuple[str, Figures]


@dataclass(frozen=True, slots=True)
class Experiment:
    name: str
    question: str
    run: Callable[[PenstockNodes], list[Row]]
    # The figures that the picture shows, each on an axis of its own: its key and what the axis is called.
    shown: tuple[tuple[str, str], ...]


def bootstrap_of(nodes: PenstockNodes) -> str:
    return ",".join(f"127.0.0.1:{nodes.port_of(number)}" for number in range(1, NODES + 1))


@contextmanager
def topic(nodes: PenstockNodes, partitions: int, config: dict[str, str] | None = None) -> Iterator[str]:
    """A topic with three replicas, for the length of a `with` block."""
    name = f"tradeoff-{next(_numbers)}"
    admin = AdminClient({"bootstrap.servers": bootstrap_of(nodes)})
    new = NewTopic(name, num_partitions=partitions, replication_factor=NODES, config=config or {})
    _settle(admin.create_topics([new], request_timeout=ADMIN_TIMEOUT_S)[name], KafkaError.TOPIC_ALREADY_EXISTS)
    try:
        yield name
    finally:
        _settle(admin.delete_topics([name], request_timeout=ADMIN_TIMEOUT_S)[name], KafkaError.UNKNOWN_TOPIC_OR_PART)


def _settle(done: Future[None], done_before: int) -> None:
    """A broker asks a second controller when the first one is lost before it answers, and both may do it."""
    try:
        done.result()
    except KafkaException as failure:
        if failure.args[0].code() != done_before:
            raise
