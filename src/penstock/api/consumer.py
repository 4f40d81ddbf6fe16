"""A consumer: subscribe, poll, commit. Offsets are committed when the program says so, unless told otherwise."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Final, Literal, NamedTuple, Self

from confluent_kafka import OFFSET_BEGINNING, OFFSET_END, OFFSET_INVALID, KafkaError, Message
from confluent_kafka import Consumer as Client
from confluent_kafka import TopicPartition as Place

from penstock.api.config import client_config
from penstock.api.errors import checked_config, error_of, explained
from penstock.api.values import Record, record_of

POLL_S: Final = 0.2
"""How long iterating waits at a time; between two of these waits ctrl-c is heard."""
ANSWER_S_MAX: Final = 30.0


class Position(NamedTuple):
    """The next offset of a partition."""

    topic: str
    partition: int
    offset: int


class Consumer:
    """Reads topics as a member of a group. One thread at a time may use it."""

    def __init__(
        self,
        bootstrap: str,
        *,
        group: str,
        topics: Sequence[str] = (),
        start: Literal["earliest", "latest", "error"] = "earliest",
        auto_commit: bool = False,
        isolation: Literal["read_committed", "read_uncommitted"] = "read_committed",
        config: Mapping[str, Any] | None = None,
    ) -> None:
        """`start` is where a group begins that has committed nothing. `config` takes whatever librdkafka knows."""
        if not group:
            raise ValueError("a consumer has a group; any name will do, members of one group share the partitions")
        defaults = {"auto.offset.reset": start, "partition.assignment.strategy": "cooperative-sticky"}
        fixed = {
            "group.id": group,
            "enable.auto.commit": auto_commit,
            "isolation.level": isolation,
            # What was polled is what `commit_offsets` commits; it is noted here, not by the client in the background.
            "enable.auto.offset.store": False,
        }
        with checked_config():
            self._client = Client(client_config(bootstrap, defaults, config, fixed))
        self.group = group
        self._auto_commit = auto_commit
        self._positions: dict[tuple[str, int], int] = {}
        # By partition, the first record that was polled and not committed.
        self._uncommitted: dict[tuple[str, int], int] = {}
        # What came while the consumer only waited, to be polled next.
        self._backlog: deque[Message] = deque()
        self._closed = False
        if topics:
            self.subscribe(topics)

    def subscribe(self, topics: str | Sequence[str]) -> None:
        """Read these topics from now on; a name that begins with ^ is a pattern."""
        names = [topics] if isinstance(topics, str) else list(topics)
        with explained("subscribing"):
            self._client.subscribe(names, on_revoke=self._forget, on_lost=self._forget)

    def poll(self, timeout_s: float = 1.0) -> Record | None:
        """The next record, or None if none came in time."""
        records = self.poll_many(1, timeout_s)
        return records[0] if records else None

    def poll_many(self, count_max: int, timeout_s: float = 1.0) -> list[Record]:
        """Up to so many records; waits only until there are any, or the time is over."""
        self._check_open()
        messages = [self._backlog.popleft() for _ in range(min(count_max, len(self._backlog)))]
        if not messages:
            with explained("reading"):
                messages = self._client.consume(1, timeout_s)
                if messages and count_max > 1:
                    messages += self._client.consume(count_max - 1, 0)
        return [self._taken(message) for message in messages if _has_record(message)]

    def wait(self, seconds: float) -> None:
        """Do nothing for a while, and stay a member of the group: polling goes on, and fetches nothing."""
        self._check_open()
        end = time.monotonic() + seconds
        self.pause()
        try:
            while (left := end - time.monotonic()) > 0:
                # What was assigned meanwhile is not paused.
                with explained("reading"):
                    self._backlog += self._client.consume(1, min(left, POLL_S))
        finally:
            self.resume()

    def __iter__(self) -> Iterator[Record]:
        """All records, for ever; ends when the consumer is closed."""
        while not self._closed:
            record = self.poll(POLL_S)
            if record is not None:
                yield record

    def commit_offsets(self, records: Record | Iterable[Record] | None = None, *, wait: bool = True) -> None:
        """Commit what was polled so far, or up to and with these records. Without `wait` it happens in the background,
        and a failure shows with the next commit that waits."""
        self._check_open()
        places = self.positions() if records is None else _after([records] if isinstance(records, Record) else records)
        if not places:
            return
        with explained("committing offsets"):
            if wait:
                done: list[Place] = self._client.commit(offsets=places, asynchronous=False) or []
            else:
                self._client.commit(offsets=places, asynchronous=True)
                done = []
        for place in done:
            if place.error is not None:
                raise error_of(place.error, f"committing offsets of {place.topic}-{place.partition}")
        self.settled(places)

    def positions(self) -> list[Place]:
        """What is next where something was polled since the last commit, as the client library takes it."""
        return [Place(*where, self._positions[where]) for where in self._uncommitted]

    def settled(self, places: Iterable[Place]) -> None:
        """These offsets are committed; a transaction says so when it is."""
        for each in places:
            where = (each.topic, each.partition)
            if self._positions.get(where, 0) <= each.offset:
                self._uncommitted.pop(where, None)
            elif where in self._uncommitted:
                self._uncommitted[where] = each.offset

    def group_metadata(self) -> object:
        """Who this member is, as a transaction wants to know it."""
        return self._client.consumer_group_metadata()

    def committed(self) -> list[Position]:
        """What the group has committed of the partitions assigned to this member."""
        with explained("asking for committed offsets"):
            found = self._client.committed(self._client.assignment(), timeout=ANSWER_S_MAX)
        return [Position(each.topic, each.partition, each.offset) for each in found if each.offset != OFFSET_INVALID]

    def lag(self) -> dict[tuple[str, int], int]:
        """How many records each assigned partition has that were not polled yet, by (topic, partition)."""
        lags = {}
        for place in self._client.assignment():
            with explained("asking for the ends of the log"):
                low, high = self._client.get_watermark_offsets(place, timeout=ANSWER_S_MAX)
            where = (place.topic, place.partition)
            lags[where] = max(0, high - max(low, self._next_offset(where)))
        return lags

    def seek(self, topic: str, partition: int, offset: int | Literal["beginning", "end"]) -> None:
        """Go on at an offset of an assigned partition."""
        logical = {"beginning": OFFSET_BEGINNING, "end": OFFSET_END}
        target = logical[offset] if isinstance(offset, str) else offset
        with explained(f"seeking in {topic}-{partition}"):
            self._client.seek(Place(topic, partition, target))
        self._forget_place((topic, partition))

    def rewind(self) -> None:
        """Let all records come again that were polled since the last commit."""
        for (topic, partition), offset in list(self._uncommitted.items()):
            self.seek(topic, partition, offset)

    def put_back(self, records: Iterable[Record]) -> None:
        """Let these come again, which were the last to be polled: whoever asked for them has not got them."""
        firsts: dict[tuple[str, int], int] = {}
        for record in records:
            firsts.setdefault((record.topic, record.partition), record.offset)
        for where, offset in firsts.items():
            began = self._uncommitted.get(where, offset)
            self.seek(*where, offset)
            if self._auto_commit:
                self._client.store_offsets(offsets=[Place(*where, offset)])
            if began < offset:
                self._uncommitted[where], self._positions[where] = began, offset

    def pause(self) -> None:
        """Fetch nothing more until `resume`; polling goes on, so that the group does not give this member up."""
        self._client.pause(self._client.assignment())

    def resume(self) -> None:
        self._client.resume(self._client.assignment())

    @property
    def assignment(self) -> list[tuple[str, int]]:
        """The partitions this member has now."""
        return [(each.topic, each.partition) for each in self._client.assignment()]

    def close(self) -> None:
        """Leave the group. With `auto_commit`, what was polled is committed before."""
        if not self._closed:
            self._closed = True
            self._client.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # Inside

    def _taken(self, message: Message) -> Record:
        record = record_of(message)
        where = (record.topic, record.partition)
        self._positions[where] = record.offset + 1
        if self._auto_commit:
            self._client.store_offsets(message)
        else:
            self._uncommitted.setdefault(where, record.offset)
        return record

    def _next_offset(self, where: tuple[str, int]) -> int:
        polled = self._positions.get(where)
        if polled is not None:
            return polled
        return next((each.offset for each in self.committed() if (each.topic, each.partition) == where), 0)

    def _forget(self, _: Client, partitions: list[Place]) -> None:
        """These are another member's from now on, and so is what is next in them."""
        for each in partitions:
            self._forget_place((each.topic, each.partition))

    def _forget_place(self, where: tuple[str, int]) -> None:
        self._positions.pop(where, None)
        self._uncommitted.pop(where, None)
        left = [each for each in self._backlog if (each.topic(), each.partition()) != where]
        self._backlog = deque(left)

    def _check_open(self) -> None:
        if self._closed:
            raise ValueError("the consumer is closed")


def _after(records: Iterable[Record]) -> list[Place]:
    newest: dict[tuple[str, int], int] = {}
    for record in records:
        where = (record.topic, record.partition)
        newest[where] = max(newest.get(where, 0), record.offset + 1)
    return [Place(topic, index, offset) for (topic, index), offset in newest.items()]


def _has_record(message: Message) -> bool:
    """Whether it is one; what goes wrong and passes by itself is passed over, as the client tries again."""
    error = message.error()
    if error is None:
        return True
    if error.retriable() or error.code() in (KafkaError._PARTITION_EOF, KafkaError._TRANSPORT):
        return False
    if error.code() in (KafkaError._ALL_BROKERS_DOWN, KafkaError.UNKNOWN_TOPIC_OR_PART):
        return False
    raise error_of(error, "reading")
