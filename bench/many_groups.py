"""Penstock beside Apache Kafka with 10,000 groups that have committed offsets: resident memory, and the seconds from a
restart until OffsetFetch serves all of them.

Run with `python -m bench.many_groups`, on a quiet machine. Every round has a fresh pair of brokers. Results are kept as
those of `make bench` are.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator
from functools import partial
from typing import Final

from bench.asking import GROUP, TIMEOUT_S, Asking
from bench.brokers import Broker
from bench.loadgen import Figures
from bench.rebalance import GroupsKafka, GroupsPenstock
from bench.report import Rounds, lines_of, print_table
from bench.run import keep, running, say, take_turns
from bench.scenarios import FULL, Metric, Scale, Scenario
from bench.stages import frame
from bench.topics import topic
from penstock.core.wire.api.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from penstock.core.wire.api.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
)

GROUPS: Final = 10_000
QUICK_GROUPS: Final = 200
PARTITIONS: Final = 3
ROUNDS: Final = 3
AT_ONCE: Final = 100
OFFSET: Final = 7
COMMIT_VERSION: Final = 8
FETCH_VERSION: Final = 8
LOOK_AGAIN_S: Final = 0.01
METRICS: Final = (
    Metric("resident_mb", "MB", False),
    Metric("grown_mb", "MB", False),
    Metric("commits_per_s", "commits/s", True),
    Metric("first_reply_s", "s", False),
    Metric("offsets_served_s", "s", False),
)


def many_groups(number: int, broker: Broker, scale: Scale) -> Figures:
    assert isinstance(broker, GroupsKafka | GroupsPenstock)
    groups = [f"group-{each}" for each in range(number)]
    with topic(broker, PARTITIONS) as name:
        committed = committed_by(broker, name, groups)
        broker.stop()
        started_s = time.monotonic()
        broker.restart()
        replied_s = time.monotonic()
        with Asking("127.0.0.1", broker.port) as asking:
            until_served(asking, name, groups)
        restarted = {"first_reply_s": replied_s - started_s, "offsets_served_s": time.monotonic() - started_s}
        return {**committed, **restarted, "restarted_mb": broker.usage().resident_mb}


def committed_by(broker: Broker, name: str, groups: list[str]) -> Figures:
    with Asking("127.0.0.1", broker.port) as asking:
        asking.until_coordinated(groups[0], GROUP)
        until = time.monotonic() + TIMEOUT_S
        while commit(asking, name, groups[:AT_ONCE]):
            assert time.monotonic() < until, "commits are refused"
            time.sleep(LOOK_AGAIN_S)
        before_mb = broker.usage().resident_mb
        started_s = time.monotonic()
        assert not commit(asking, name, groups), "every commit is taken"
        taken_s = time.monotonic() - started_s
    resident_mb = broker.usage().resident_mb
    rate = len(groups) / taken_s
    return {"resident_mb": resident_mb, "grown_mb": resident_mb - before_mb, "commits_per_s": rate}


def commit(asking: Asking, name: str, groups: list[str]) -> set[int]:
    """The codes of what was refused."""
    partitions = [
        OffsetCommitRequestPartition(partition_index=each, committed_offset=OFFSET, committed_metadata="")
        for each in range(PARTITIONS)
    ]
    topics = [OffsetCommitRequestTopic(name=name, partitions=partitions)]
    requests = (frame(OffsetCommitRequest(group_id=each, topics=topics), COMMIT_VERSION) for each in groups)
    answers = asking.all(requests, AT_ONCE, OffsetCommitResponse, COMMIT_VERSION)
    return {each.error_code for answer in answers for each in answer.topics[0].partitions} - {0}


def until_served(asking: Asking, name: str, groups: list[str]) -> None:
    until = time.monotonic() + TIMEOUT_S
    for first in range(0, len(groups), AT_ONCE):
        some = groups[first : first + AT_ONCE]
        while not all(each == OFFSET for each in offsets_of(asking, name, some)):
            assert time.monotonic() < until, "offsets are not served"
            time.sleep(LOOK_AGAIN_S)


def offsets_of(asking: Asking, name: str, groups: list[str]) -> Iterator[int]:
    """Of every partition of every group; -1 where the coordinator does not answer for it yet."""
    topics = [OffsetFetchRequestTopics(name=name, partition_indexes=list(range(PARTITIONS)))]
    wanted = [OffsetFetchRequestGroup(group_id=each, topics=topics) for each in groups]
    request = frame(OffsetFetchRequest(groups=wanted), FETCH_VERSION)
    (answer,) = asking.all([request], 1, OffsetFetchResponse, FETCH_VERSION)
    for group in answer.groups:
        if group.error_code or not group.topics:
            yield -1
        for found in group.topics:
            yield from (each.committed_offset for each in found.partitions)


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench.many_groups", description=__doc__)
    parser.add_argument("--quick", action="store_true", help=f"one round with {QUICK_GROUPS} groups: a hint")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="fresh pairs of brokers")
    arguments = parser.parse_args()
    number = QUICK_GROUPS if arguments.quick else GROUPS
    if os.getloadavg()[0] > 0.5:
        say("a rough run: the machine has other work")
    name = f"many_groups_{number}"
    scenario = Scenario(name, f"{number:,} groups with offsets", partial(many_groups, number), METRICS, rounds=1)
    rounds: Rounds = {"kafka": [], "penstock": []}
    for _ in range(1 if arguments.quick else arguments.rounds):
        with running(GroupsKafka(), GroupsPenstock()) as brokers:
            for broker, figures in take_turns(scenario, FULL, brokers).items():
                rounds[broker] += figures
    lines = lines_of(scenario, rounds)
    print_table(lines)
    if not arguments.quick:
        keep(lines, {name: rounds}, "many-groups")
    return 0


if __name__ == "__main__":
    sys.exit(main())
