"""How far groups are behind, as their coordinators see it: in records, and in time.

A coordinator knows what was committed, and the leaders of those partitions where they end: it asks them from time to
time, as long as anybody wants to know. When a record came that a group has not read yet, follows from where its
partition ended at each of these looks: no record is read for it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator
from itertools import islice
from typing import Final, NamedTuple

from penstock.core.base.errors import ErrorCode
from penstock.core.base.ports import Pause, Steps
from penstock.core.groups.shard import GroupShard
from penstock.core.node.links.purposes import ENDS
from penstock.core.node.node import Node
from penstock.core.wire.api.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from penstock.core.wire.schema import Response

LOOK_MS: Final = 2_000
WANTED_MS: Final = 120_000
"""For so long after somebody has asked, looks go on: nobody scrapes more seldom."""
ANSWER_MS: Final = 1_500
PARTITIONS_MAX: Final = 20_000
"""Partitions whose ends are looked at; groups that read others have no lag here."""
PER_REQUEST_MAX: Final = 5_000
PER_TURN_MAX: Final = 500
LATEST: Final = -1
ENDS_MAX: Final = 64

Key = tuple[str, int]


class End(NamedTuple):
    """Where a partition ended at some time."""

    at_ms: int
    offset: int


class Ends:
    """Where a partition ended at looks of the past, as far back as a group has not read. The further back that is, the
    further apart are the looks that are kept: what they say is right within a thirtieth."""

    __slots__ = ("_looks", "_spacing_ms")

    def __init__(self) -> None:
        self._looks: list[End] = []
        self._spacing_ms = 0

    @property
    def offset(self) -> int:
        return self._looks[-1].offset

    def saw(self, offset: int, now_ms: int) -> None:
        looks = self._looks
        if looks and offset < looks[-1].offset:
            # An unclean election has cut it.
            looks.clear()
        if looks and offset == looks[-1].offset:
            return
        if len(looks) > 1 and looks[-1].at_ms - looks[-2].at_ms < self._spacing_ms:
            looks.pop()
        looks.append(End(now_ms, offset))
        if len(looks) > ENDS_MAX:
            self._spacing_ms = 2 * (now_ms - looks[0].at_ms) // ENDS_MAX
            del looks[1:-1:2]

    def forget_below(self, committed: int) -> None:
        """All groups have read that far."""
        looks, count = self._looks, 0
        while count + 1 < len(looks) and looks[count + 1].offset <= committed:
            count += 1
        if count:
            del looks[:count]
            self._spacing_ms = 2 * (looks[-1].at_ms - looks[0].at_ms) // ENDS_MAX

    def behind_ms(self, committed: int, now_ms: int) -> int:
        """How long ago the record came that follows what was committed, as far as that was seen."""
        at = bisect_right(self._looks, committed, key=lambda look: look.offset)
        return max(now_ms - self._looks[at].at_ms, 0) if at < len(self._looks) else 0


class Lag(NamedTuple):
    """One group and partition."""

    group_id: str
    topic: str
    partition: int
    committed: int
    records: int
    behind_ms: int


class GroupLag:
    """Of the groups that this node coordinates."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._ends: dict[Key, Ends] = {}
        self._wanted_until_ms = 0
        self._is_looking = False

    def want(self) -> None:
        """Somebody asks: look from now on."""
        node = self._node
        self._wanted_until_ms = self._now_ms + WANTED_MS
        if not self._is_looking and node.has_opened:
            self._is_looking = True
            self._look()

    def lags(self) -> Iterator[Lag]:
        """What is known now; some time may pass between two of them."""
        for shard in self._shards():
            for group_ids in shard.groups.slices():
                for group_id in group_ids:
                    yield from self._of_group(shard, group_id)

    def _of_group(self, shard: GroupShard, group_id: str) -> Iterator[Lag]:
        now_ms = self._now_ms
        for topic, commits in list(shard.offsets.of_group(group_id).items()):
            for partition, commit in list(commits.items()):
                ends = self._ends.get((topic, partition))
                if ends is not None and commit.offset >= 0:
                    behind = max(ends.offset - commit.offset, 0)
                    behind_ms = ends.behind_ms(commit.offset, now_ms) if behind else 0
                    yield Lag(group_id, topic, partition, commit.offset, behind, behind_ms)

    # Looking

    @property
    def _now_ms(self) -> int:
        return self._node.now_us // 1000

    def _shards(self) -> Iterator[GroupShard]:
        for host in self._node.coordinators.groups:
            if host.driver is not None:
                yield host.machine

    def _look(self) -> None:
        node = self._node
        if node.state != "running" or self._now_ms > self._wanted_until_ms:
            self._is_looking = False
            self._ends.clear()
            return
        node.tasks.run(self._round(), self._looked)

    def _looked(self, outcome: object) -> None:
        if isinstance(outcome, Exception):
            raise outcome
        self._node.deadlines.at(self._node.now_ms + LOOK_MS, self._look)

    def _round(self) -> Steps[None]:
        read: dict[Key, int] = {}
        for shard in self._shards():
            for group_ids in shard.groups.slices():
                for group_id in group_ids:
                    for topic, commits in shard.offsets.of_group(group_id).items():
                        for partition, commit in commits.items():
                            key = topic, partition
                            read[key] = min(read.get(key, commit.offset), commit.offset)
                yield Pause()
        self._ends = {key: ends for key, ends in self._ends.items() if key in read}
        for key, ends in self._ends.items():
            ends.forget_below(read[key])
        elsewhere: dict[int, list[Key]] = defaultdict(list)
        for number, key in enumerate(islice(sorted(read), PARTITIONS_MAX)):
            self._look_at(key, elsewhere)
            if number % PER_TURN_MAX == PER_TURN_MAX - 1:
                yield Pause()
        for leader, keys in elsewhere.items():
            for at in range(0, len(keys), PER_REQUEST_MAX):
                self._ask(leader, keys[at : at + PER_REQUEST_MAX])

    def _look_at(self, key: Key, elsewhere: dict[int, list[Key]]) -> None:
        here, topic = self._node.replicas.get(*key), self._node.image.topic(key[0])
        if here is not None and here.leads:
            self._saw(key, here.high_watermark)
        elif topic is not None and key[1] < len(topic) and topic.leaders[key[1]] >= 0:
            elsewhere[topic.leaders[key[1]]].append(key)

    def _saw(self, key: Key, offset: int) -> None:
        ends = self._ends.get(key)
        if ends is None:
            ends = self._ends[key] = Ends()
        ends.saw(offset, self._now_ms)

    def _ask(self, leader: int, keys: list[Key]) -> None:
        by_topic: dict[str, list[ListOffsetsPartition]] = defaultdict(list)
        for topic, partition in keys:
            by_topic[topic].append(ListOffsetsPartition(partition_index=partition, timestamp=LATEST))
        topics = [ListOffsetsTopic(name=topic, partitions=partitions) for topic, partitions in by_topic.items()]
        request = ListOffsetsRequest(replica_id=-1, isolation_level=0, topics=topics, timeout_ms=ANSWER_MS)
        self._node.cluster.brokers.send(leader, ENDS, request, self._answered, ANSWER_MS)

    def _answered(self, answer: Response | ErrorCode) -> None:
        """Who does not answer is asked again at the next look; until then what was seen last counts."""
        if isinstance(answer, ListOffsetsResponse):
            for topic in answer.topics:
                for each in topic.partitions:
                    if each.error_code == 0 and each.offset >= 0:
                        self._saw((topic.name, each.partition_index), each.offset)
