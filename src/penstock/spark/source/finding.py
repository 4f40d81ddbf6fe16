"""The driver's questions to the cluster: which partitions there are, where they begin and end, how large they are.

One connection serves all questions of a reader. A question that fails is asked again on a new one, as often as the
options say.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Iterable
from typing import NamedTuple, TypeVar

from penstock.client.blocking import Client
from penstock.client.errors import ClientError, check
from penstock.client.metadata import TopicPartition
from penstock.client.offsets import (
    EARLIEST,
    LATEST,
    NO_OFFSET,
    READ_COMMITTED,
    READ_UNCOMMITTED,
    by_leader,
    by_topic,
    list_offsets,
)
from penstock.core.base.errors import ErrorCode
from penstock.core.wire.api.describe_log_dirs import (
    DescribableLogDirTopic,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
)
from penstock.spark.source.errors import OptionError
from penstock.spark.source.options import SourceOptions
from penstock.spark.source.places import Offsets, listed
from penstock.spark.source.positions import ByOffset, ByTime, Edge, Position

T = TypeVar("T")
NO_ID = bytes(16)
_log = logging.getLogger("penstock.spark")


class Found(NamedTuple):
    """Where a position is in each partition, and which of them were taken at their end as it was just then."""

    offsets: dict[TopicPartition, int]
    at_end: frozenset[TopicPartition]


class Finder:
    """Asks for one query. It remembers the topics that it has seen: one of them may be gone, or be made anew."""

    def __init__(self, options: SourceOptions) -> None:
        self._options = options
        self._isolation = READ_COMMITTED if options.isolation == "read_committed" else READ_UNCOMMITTED
        self._client: Client | None = None
        self._seen: frozenset[TopicPartition] = frozenset()
        self._looked_at: float | None = None
        self._read_before: set[str] = set()
        self._topic_ids: dict[str, bytes] = {}
        self._renewed: set[str] = set()

    def close(self) -> None:
        if self._client is not None:
            self._client.close()
        self._client, self._looked_at = None, None

    def ask(self, question: Callable[[Client], T]) -> T:
        """The answer to a question, asked again on a new connection when it fails."""
        retries = self._options.retries
        for attempt in range(1, retries.attempts + 1):
            try:
                return self.ask_once(question)
            except ClientError as failure:
                if attempt == retries.attempts:
                    raise
                _log.warning("asking for offsets failed (attempt %d of %d): %s", attempt, retries.attempts, failure)
                time.sleep(retries.pause_ms / 1000)
        raise AssertionError("the last attempt gives an answer or an error")

    def ask_once(self, question: Callable[[Client], T]) -> T:
        try:
            return question(self._connected())
        except ClientError:
            self.close()
            raise

    def _connected(self) -> Client:
        settings = self._options.settings
        if self._client is None:
            timeout = settings.request_timeout_ms / 1000
            self._client = Client(
                settings.bootstrap, client_id=settings.client_id, timeout=timeout, security=settings.security
            )
        return self._client

    # Which partitions

    def remember(self, places: Iterable[TopicPartition]) -> None:
        """These were read before: their topics may be gone, while one that nobody has seen is a mistake."""
        self._read_before.update(where.topic for where in places)

    def _places(self, client: Client) -> frozenset[TopicPartition]:
        """The partitions that the query reads."""
        age_ms_max = self._options.retries.metadata_age_ms_max
        if self._looked_at is not None and (time.monotonic() - self._looked_at) * 1000 < age_ms_max:
            return self._seen
        self._seen = self._look(client)
        self._looked_at = time.monotonic()
        return self._seen

    def _look(self, client: Client) -> frozenset[TopicPartition]:
        subscription = self._options.subscription
        answer = client.retry(lambda: client.refresh(subscription.topics))
        found: set[TopicPartition] = set()
        for topic in answer.topics:
            if topic.name is None or topic.is_internal:
                continue
            if topic.error_code != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION or topic.name not in self._read_before:
                check(topic.error_code, f"topic {topic.name}")
            places = {TopicPartition(topic.name, partition.partition_index) for partition in topic.partitions}
            if taken := set(filter(subscription.takes, places)):
                self._read_before.add(topic.name)
                self._meet(topic.name, topic.topic_id)
                found |= taken
        return frozenset(found)

    def _meet(self, topic: str, topic_id: bytes) -> None:
        if self._topic_ids.setdefault(topic, topic_id) != topic_id:
            self._renewed.add(topic)
            self._topic_ids[topic] = topic_id

    def take_renewed(self) -> list[str]:
        """The topics that were deleted and created again since this was asked last."""
        renewed, self._renewed = sorted(self._renewed), set()
        return renewed

    def topic_id(self, topic: str) -> bytes | None:
        """None where brokers do not name topics by id."""
        if topic not in self._topic_ids:
            self.ask(self._places)
        found = self._topic_ids.get(topic, NO_ID)
        return None if found == NO_ID else found

    # Where they begin and end

    def earliest(self, places: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """The first offsets, of those partitions that still are there."""
        wanted = frozenset(places)
        self.remember(wanted)
        if not wanted:
            return {}
        return self.ask(lambda client: self._offsets(client, dict.fromkeys(wanted & self._places(client), EARLIEST)))

    def latest(self, known: Offsets | None = None) -> dict[TopicPartition, int]:
        """The end of each partition. An end before an offset that is known already may come from a broker that lags
        behind, so it is asked for again; if it stays, the topic was made anew."""
        before = known or {}
        self.remember(before)
        retries = self._options.retries
        for attempt in range(1, retries.attempts + 1):
            ends = self.ask(lambda client: self._offsets(client, dict.fromkeys(self._places(client), LATEST)))
            behind = {where: end for where, end in ends.items() if end < before.get(where, 0)}
            if not behind or attempt == retries.attempts:
                return ends
            _log.warning("the ends of %s lie before what was read, asking again", listed(behind))
            time.sleep(retries.pause_ms / 1000)
        raise AssertionError("the last attempt returns")

    def since(self, times_ms: Offsets) -> dict[TopicPartition, int]:
        """The first offset at or after a time in each partition, NO_OFFSET where nothing is so late."""
        return self.ask(lambda client: self._offsets(client, times_ms))

    def _offsets(self, client: Client, questions: Offsets) -> dict[TopicPartition, int]:
        if not questions:
            return {}
        found = list_offsets(client, questions, self._isolation)
        return {where: answer.offset for where, answer in found.items()}

    def find(self, position: Position, *, is_start: bool) -> Found:
        """A position in each partition of the query."""

        def question(client: Client) -> Found:
            marks = self._marks(client, position, is_start)
            at_end = frozenset(where for where, mark in marks.items() if mark == LATEST)
            edges = {where: mark for where, mark in marks.items() if mark in (EARLIEST, LATEST)}
            return Found({**marks, **self._offsets(client, edges)}, at_end)

        return self.ask(question)

    def _marks(self, client: Client, position: Position, is_start: bool) -> dict[TopicPartition, int]:
        """Offsets, or EARLIEST and LATEST in place of some."""
        places = self._places(client)
        match position:
            case Edge(at):
                return dict.fromkeys(places, at)
            case ByOffset(offsets):
                _check_same(offsets, places)
                return dict(offsets)
            case ByTime(times_ms, latest_if_none):
                times = dict.fromkeys(places, times_ms) if isinstance(times_ms, int) else dict(times_ms)
                _check_same(times, places)
                return _with_ends(self._offsets(client, times), times, is_start and not latest_if_none)

    # How large they are

    def bytes_per_offset(self, places: Collection[TopicPartition]) -> dict[TopicPartition, float]:
        """The mean, over all that a partition holds now, as its leader's log stores it: usually compressed."""

        def question(client: Client) -> tuple[Offsets, Offsets, Offsets]:
            first = self._offsets(client, dict.fromkeys(places, EARLIEST))
            last = self._offsets(client, dict.fromkeys(places, LATEST))
            return first, last, _log_sizes(client, places)

        first, last, sizes = self.ask(question)
        return {
            where: sizes[where] / (last[where] - first[where])
            for where in places
            if where in sizes and last[where] > first[where]
        }


def _check_same(given: Offsets, places: Collection[TopicPartition]) -> None:
    if given.keys() != set(places):
        raise OptionError(
            f"the options give positions for {listed(given)}, the query reads {listed(places)}: name every partition "
            "(-1 is its latest offset, -2 its earliest)"
        )


def _with_ends(found: Offsets, times_ms: Offsets, must_match: bool) -> dict[TopicPartition, int]:
    for where, offset in found.items():
        if offset == NO_OFFSET and must_match:
            raise OptionError(
                f"{where} has no record at or after timestamp {times_ms[where]}; set "
                "startingOffsetsByTimestampStrategy to latest to begin at its end"
            )
    return {where: LATEST if offset == NO_OFFSET else offset for where, offset in found.items()}


def _log_sizes(client: Client, places: Collection[TopicPartition]) -> dict[TopicPartition, int]:
    sizes = {}
    for leader, led in by_leader(client, places).items():
        topics = [DescribableLogDirTopic(topic=topic, partitions=numbers) for topic, numbers in by_topic(led).items()]
        answer = client.ask(DescribeLogDirsRequest(topics=topics), DescribeLogDirsResponse, node=leader)
        check(answer.error_code, f"the sizes of partitions on broker {leader}")
        for folder in answer.results:
            for topic in folder.topics:
                for partition in topic.partitions:
                    if not partition.is_future_key:
                        sizes[TopicPartition(topic.name, partition.partition_index)] = partition.partition_size
    return sizes
