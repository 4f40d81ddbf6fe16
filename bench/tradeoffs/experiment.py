"""One trade-off: a question, a table of what was measured, and what its picture shows."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

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
    admin.create_topics([new], request_timeout=ADMIN_TIMEOUT_S)[name].result()
    try:
        yield name
    finally:
        admin.delete_topics([name], request_timeout=ADMIN_TIMEOUT_S)[name].result()
