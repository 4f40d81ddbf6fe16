"""Penstock beside Apache Kafka when a group rebalances: how long until everybody holds a stable, complete, disjoint
assignment, and how many requests that takes.

Run with `python -m bench.rebalance`, on a quiet machine. The members are librdkafka's, in the classic protocol (eager
with `range`, and `cooperative-sticky`) and in that of KIP-848. A group starts, one member closes, one more joins. The
requests are those of the members that are there at the end, Fetch left out (ConsumerGroupHeartbeat is `Unnamed`);
every API is in the file with the results, which are kept as those of `make bench` are.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Final

from bench.brokers import COMMON_SETTINGS, Broker, KafkaBroker, PenstockBroker, scratch_folder
from bench.loadgen import Figures
from bench.members import Members
from bench.report import Rounds, lines_of, print_table
from bench.run import keep, running, say, take_turns
from bench.scenarios import FULL, QUICK, Metric, Scale, Scenario
from bench.topics import topic
from tests.kafka_peer import SERVER_FLAGS, KafkaPeer

PROTOCOLS: Final[Mapping[str, Mapping[str, str]]] = {
    "eager": {"group.protocol": "classic", "partition.assignment.strategy": "range"},
    "cooperative": {"group.protocol": "classic", "partition.assignment.strategy": "cooperative-sticky"},
    "kip848": {"group.protocol": "consumer"},
}
SIZES: Final = ((20, 100), (50, 500))
QUICK_SIZES: Final = ((4, 20),)
"""Members and partitions."""
WARM_UP_SIZE: Final = (2, 4)
"""The first group of a broker makes the coordinators, too."""
ROUNDS: Final = 3
# Kafka's defaults, which neither side has when it is started for a test.
SETTINGS: Final = {
    **COMMON_SETTINGS,
    "group.initial.rebalance.delay.ms": "3000",
    "offsets.topic.num.partitions": "50",
}
WAITED_FOR: Final = {"Fetch"}
"""Goes on for as long as a member lives, however the group fares."""
EVENTS: Final = ("start", "leave", "join")


class GroupsKafka(KafkaBroker):
    def __init__(self) -> None:
        self._peer = KafkaPeer(scratch_folder("kafka"), properties=SETTINGS, flags=SERVER_FLAGS)

    def restart(self) -> None:
        """On the data that it has."""
        self._peer.start()


class GroupsPenstock(PenstockBroker):
    def __init__(self) -> None:
        super().__init__(settings=SETTINGS)

    def restart(self) -> None:
        self.start()


def rebalance(size: tuple[int, int], settings: Mapping[str, str], broker: Broker, scale: Scale) -> Figures:
    number, partitions = size
    with topic(broker, partitions) as name, Members(broker.port, name, partitions, settings) as members:
        members.join(number - 1)
        return {
            **measured("start", members, partial(members.join, 1), Counter()),
            **measured("leave", members, members.leave),
            **measured("join", members, partial(members.join, 1)),
        }


def measured(
    event: str, members: Members, happen: Callable[[], None], before: Counter[str] | None = None
) -> dict[str, float]:
    started_s = time.monotonic()
    happen()
    before = members.asked() if before is None else before
    taken_s = members.until_assigned() - started_s
    asked = members.asked() - before
    total = sum(number for name, number in asked.items() if name not in WAITED_FOR)
    by_api = {f"{event}_{name}": float(number) for name, number in sorted(asked.items())}
    return {f"{event}_s": taken_s, f"{event}_requests": float(total), **by_api}


def scenarios(sizes: tuple[tuple[int, int], ...]) -> list[Scenario]:
    metrics = tuple(
        Metric(f"{event}_{key}", unit, False) for event in EVENTS for key, unit in (("s", "s"), ("requests", "req"))
    )
    return [
        Scenario(
            f"rebalance_{protocol}_{size[0]}x{size[1]}",
            f"{size[0]} members, {size[1]} partitions, {protocol}",
            partial(rebalance, size, settings),
            metrics,
        )
        for size in sizes
        for protocol, settings in PROTOCOLS.items()
    ]


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench.rebalance", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one round of small groups: a hint")
    parser.add_argument("--only", action="append", help="this load; repeatable")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="rounds per load")
    arguments = parser.parse_args()
    scale = QUICK if arguments.quick else replace(FULL, rounds=arguments.rounds)
    if os.getloadavg()[0] > 0.5:
        say("a rough run: the machine has other work")
    found = scenarios(QUICK_SIZES if arguments.quick else SIZES)
    chosen = [each for each in found if not arguments.only or each.name in arguments.only]
    rounds = dict[str, Rounds]()
    with running(GroupsKafka(), GroupsPenstock()) as brokers:
        for broker in brokers:
            say(f"warming up {broker.name}")
            rebalance(WARM_UP_SIZE, PROTOCOLS["eager"], broker, scale)
        for scenario in chosen:
            rounds[scenario.name] = take_turns(scenario, scale, brokers)
    lines = [line for scenario in chosen for line in lines_of(scenario, rounds[scenario.name])]
    print_table(lines)
    if not arguments.quick:
        keep(lines, rounds, "rebalance")
    return 0


if __name__ == "__main__":
    sys.exit(main())
