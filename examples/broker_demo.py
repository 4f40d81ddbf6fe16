"""The broker alone: orders through a real Kafka client, a crash in the middle, and a count at the end.

Run it with `make demo-broker`: it needs neither Spark nor Java nor the network, and cleans up.
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

from confluent_kafka import Consumer, Message, Producer
from confluent_kafka.admin import AdminClient, NewTopic
from rich.console import Console
from rich.table import Table

from examples.node import Node

ORDERS = 20_000
PARTITIONS = 3
TOPIC = "orders"
CITIES = ("Aarhus", "Bergen", "Cork", "Delft", "Evora")
POLL_S = 5.0
QUIET = {"log_level": "0"}
"""The client would tell of every refused connection while the node is down, which is the point of the demo."""

console = Console()


def an_order(number: int, chance: random.Random) -> dict[str, object]:
    return {"id": number, "city": chance.choice(CITIES), "cents": chance.randint(500, 9_900)}


class Orders:
    """Produces numbered orders and remembers what the broker acknowledged."""

    def __init__(self, address: str) -> None:
        self._producer = Producer({"bootstrap.servers": address, "enable.idempotence": True, "linger.ms": 5, **QUIET})
        self._chance = random.Random(7)
        self._next = 0
        self.acknowledged = 0

    def send(self, count: int) -> None:
        for _ in range(count):
            order = an_order(self._next, self._chance)
            self._next += 1
            self._producer.produce(
                TOPIC, json.dumps(order), key=str(order["id"]), on_delivery=lambda error, _: self._count(error)
            )
            self._producer.poll(0)

    def finish(self) -> None:
        self._producer.flush()

    def _count(self, error: object) -> None:
        self.acknowledged += error is None


def read_all(address: str, group: str, expected: int) -> list[Message]:
    """Everything a new group sees from the beginning, until nothing more comes."""
    where = {"bootstrap.servers": address, "group.id": group, "auto.offset.reset": "earliest"}
    consumer = Consumer({**where, "enable.auto.commit": False, **QUIET})
    consumer.subscribe([TOPIC])
    found: list[Message] = []
    while len(found) < expected:
        batch = consumer.consume(1000, POLL_S)
        if not batch:
            break
        found += [message for message in batch if message.error() is None]
    consumer.commit(asynchronous=False)
    consumer.close()
    return found


def report(produced: int, payment: list[Message], analytics: list[Message]) -> bool:
    table = Table("branch", "orders seen", "distinct", "verdict")
    verdicts = []
    for name, messages in (("payment", payment), ("analytics", analytics)):
        distinct = {json.loads(message.value() or b"")["id"] for message in messages}
        verdicts.append(len(messages) == len(distinct) == produced)
        table.add_row(name, f"{len(messages):,}", f"{len(distinct):,}", "complete" if verdicts[-1] else "WRONG")
    console.print(table)
    cents: Counter[str] = Counter()
    for message in analytics:
        order = json.loads(message.value() or b"")
        cents[order["city"]] += order["cents"]
    revenue = Table("city", "revenue")
    for city, total in sorted(cents.items()):
        revenue.add_row(city, f"{total / 100:,.2f}")
    console.print(revenue)
    return all(verdicts)


def main() -> int:
    with ExitStack() as cleanup:
        folder = Path(cleanup.enter_context(tempfile.TemporaryDirectory(prefix="penstock-demo-")))
        node = Node(folder / "data")
        cleanup.callback(node.stop)
        console.print(f"[bold]1.[/] a node on {node.address}: ready after {node.start():.2f} s, data in {node.folder}")
        admin = AdminClient({"bootstrap.servers": node.address, **QUIET})
        admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)])[TOPIC].result()
        orders = Orders(node.address)
        orders.send(ORDERS // 2)
        console.print(f"[bold]2.[/] {ORDERS // 2:,} orders on their way, through confluent-kafka, idempotent, acks=all")
        node.kill()
        console.print("[bold]3.[/] kill -9 while they are")
        orders.send(ORDERS // 2)
        console.print(f"[bold]4.[/] {ORDERS // 2:,} more; node back after {node.start():.2f} s, recovered from its log")
        orders.finish()
        console.print(f"[bold]5.[/] acknowledged: {orders.acknowledged:,} of {ORDERS:,}; two groups now read it all")
        payment = read_all(node.address, "payment", ORDERS)
        analytics = read_all(node.address, "analytics", ORDERS)
        complete = report(orders.acknowledged, payment, analytics) and orders.acknowledged == ORDERS
    verdict = "[green]nothing lost, nothing doubled[/]" if complete else "[red]the counts differ[/]"
    console.print(f"[bold]6.[/] {verdict}")
    return 0 if complete else 1


if __name__ == "__main__":
    sys.exit(main())
