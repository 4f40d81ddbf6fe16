"""Reading as a member of a group: membership is the work of a full client, which is loaded only for this."""

from __future__ import annotations

import importlib.util
import json
import signal
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

from penstock.cli.cluster_picture import names_text
from penstock.cli.outage import Outage
from penstock.cli.talk import Misused, Refused, say
from penstock.client.errors import ClientError, Unreachable
from penstock.client.librdkafka import librdkafka_security
from penstock.client.metadata import TopicPartition
from penstock.client.offsets import READ_COMMITTED
from penstock.client.security import SECURITY_SETTINGS
from penstock.core.records.record import Record

if TYPE_CHECKING:
    from confluent_kafka import Consumer, Message
    from confluent_kafka import TopicPartition as Place

POLL_SECONDS = 0.2
# How often the client underneath tells which brokers it is connected to, which it says in no other way.
NEWS_MS = 500
COMMIT_MS = 1000
# Printed records are flushed and counted as done when there is a pause, or after so many.
UNSETTLED_RECORDS_MAX = 1000
LEAVE_SECONDS_MAX = 10.0
BEGIN_SECONDS_MAX = 5.0
# A group's first member waits this long for its coordinator without a word: its topic may have to come into being.
COORDINATOR_SECONDS = 2.0
# What the full client calls by another name.
_LIBRDKAFKA: Final = {"fetch.max.wait.ms": "fetch.wait.max.ms", "request.timeout.ms": "socket.timeout.ms"}


class Membership(NamedTuple):
    """As whom a group is read, and how."""

    bootstrap: str
    group: str
    from_: str
    follow: bool
    isolation: int
    patience: float | None
    settings: Mapping[str, str]


def read_as_group(wish: Membership, topics: list[str], count: int | None) -> Generator[tuple[TopicPartition, Record]]:
    """The group's next records. One may be committed once it was printed, that is when the next one is asked for and
    the output is flushed."""
    if wish.from_ not in ("earliest", "latest"):
        raise Misused(
            "a group continues where it is: --from takes only earliest or latest, for partitions it has not begun",
            f"move it with: penstock group reset {wish.group} --topic {topics[0]} --to {wish.from_} --execute",
        )
    require_client()
    member = _Member(wish)
    with _polite_interrupts() as check_interrupts:
        try:
            for message in islice(member.messages(topics, check_interrupts), count):
                yield _found(message)
                member.unsettled.append(message)
            member.settle()
        except BaseException:
            # What ended the reading is what the person hears of as the reason.
            if (problem := member.leave()) is not None:
                say(f"penstock: {problem}")
            raise
        if (problem := member.leave()) is not None:
            raise ClientError(problem)


def require_client() -> None:
    """Refuse in one line where the client is not installed that does the work of a member."""
    if importlib.util.find_spec("confluent_kafka") is None:
        raise Refused(
            "reading as a member of a group needs confluent-kafka, which is not installed",
            "pip install 'penstock[client]'",
        )


@contextmanager
def _polite_interrupts() -> Iterator[Callable[[], None]]:
    """Ctrl-c acts where `check` is called: the client underneath loses an exception that hits one of its callbacks.
    A second one acts at once."""
    asked = False

    def note(*_: object) -> None:
        nonlocal asked
        if asked:
            raise KeyboardInterrupt
        asked = True

    def check() -> None:
        if asked:
            raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, note)
    try:
        yield check
    finally:
        signal.signal(signal.SIGINT, before)


class _Member:
    """A member of a group, and whether it has brokers to talk to."""

    def __init__(self, wish: Membership) -> None:
        self._bootstrap = wish.bootstrap
        self._group = wish.group
        self._begins_at_end = wish.from_ == "latest"
        self._follow = wish.follow
        self._patience = wish.patience
        self._outage = Outage(wish.patience)
        self._heard = time.monotonic()
        self._has_brokers = True
        self._has_coordinator = True
        self._was_connected = False
        self._was_assigned = False
        self._is_idle = False
        self._ended: set[tuple[str | None, int | None]] = set()
        self.unsettled: list[Message] = []
        self._consumer = self._make_consumer(wish)

    def _make_consumer(self, wish: Membership) -> Consumer:
        from confluent_kafka import Consumer, KafkaException

        own = {name: value for name, value in wish.settings.items() if name not in SECURITY_SETTINGS}
        chosen = {_LIBRDKAFKA.get(name, name): value for name, value in own.items()} | librdkafka_security(
            wish.settings
        )
        try:
            return Consumer(
                {
                    "auto.commit.interval.ms": COMMIT_MS,
                    **chosen,
                    "bootstrap.servers": wish.bootstrap,
                    "group.id": wish.group,
                    "auto.offset.reset": wish.from_,
                    # Stored offsets are committed in the background; they are stored by us, once a record is printed.
                    "enable.auto.commit": True,
                    "enable.auto.offset.store": False,
                    "enable.partition.eof": not wish.follow,
                    "isolation.level": "read_committed" if wish.isolation == READ_COMMITTED else "read_uncommitted",
                    "statistics.interval.ms": NEWS_MS,
                    "stats_cb": self._take_news,
                    "log_level": 0,
                }
            )
        except KafkaException as failure:
            raise Refused(f"no member can be made of these settings: {failure.args[0].str()}") from None

    def messages(self, topics: list[str], check_interrupts: Callable[[], None]) -> Generator[Message]:
        """What the group gives this member; unless it follows, until every partition it holds is read to its end."""
        self._consumer.subscribe(
            topics,
            on_assign=self._take_assignment,
            # What is given back is settled while it is still ours; what was taken away is somebody else's to count.
            on_revoke=lambda *_: self.settle(),
            on_lost=lambda *_: self.unsettled.clear(),
        )
        while not self._is_done():
            message = self._next()
            check_interrupts()
            if message is None:
                self._watch()
                continue
            self._heard = time.monotonic()
            if (error := message.error()) is None:
                self._ended.discard((message.topic(), message.partition()))
                yield message
            else:
                self._take_error(message, error)

    def settle(self) -> None:
        """What was printed is out of our hands, and only then counts as done."""
        sys.stdout.buffer.flush()
        for message in self.unsettled:
            self._consumer.store_offsets(message)
        self.unsettled.clear()

    def leave(self) -> str | None:
        """Commit and leave the group, which takes for ever without a broker; gives what could not be done."""
        problems: list[str] = []
        goodbye = threading.Thread(target=self._say_goodbye, args=(problems,), daemon=True)
        goodbye.start()
        goodbye.join(LEAVE_SECONDS_MAX if self._has_brokers and self._has_coordinator else 0)
        if goodbye.is_alive() and self._was_assigned:
            return f"group {self._group} may see the last records again: no broker took its commit"
        return problems[0] if problems else None

    def _say_goodbye(self, problems: list[str]) -> None:
        from confluent_kafka import KafkaError, KafkaException

        try:
            self._consumer.commit(asynchronous=False)
        except KafkaException as failure:
            error: KafkaError = failure.args[0]
            if error.code() != KafkaError._NO_OFFSET:
                problems.append(f"group {self._group} could not commit: {error.str()}")
        finally:
            self._consumer.close()

    def _next(self) -> Message | None:
        """The next message: at once if there is one, else what has been printed is settled before more is awaited."""
        message = self._consumer.poll(0)
        if message is None or len(self.unsettled) >= UNSETTLED_RECORDS_MAX:
            self.settle()
        return self._consumer.poll(POLL_SECONDS) if message is None else message

    def _is_done(self) -> bool:
        """Whether nothing is left to read for a member that does not follow."""
        return not self._follow and (self._is_idle or 0 < len(self._ended) == len(self._consumer.assignment()))

    def _take_assignment(self, consumer: Consumer, partitions: list[Place]) -> None:
        self._heard = time.monotonic()
        # Only a coordinator can have given us partitions: it is there now, whatever older news said.
        self._was_connected = self._was_assigned = self._has_brokers = self._has_coordinator = True
        if self._begins_at_end and partitions:
            self._commit_beginnings(consumer, partitions)
        self._ended.clear()
        self._is_idle = not partitions
        if self._is_idle:
            say(f"penstock: the other members of group {self._group} hold all partitions")

    def _commit_beginnings(self, consumer: Consumer, partitions: list[Place]) -> None:
        """A group that begins at the end has begun there, also if nothing comes: what is written while it is away is
        for its next member to read."""
        from confluent_kafka import KafkaException

        try:
            begun = consumer.committed(partitions, BEGIN_SECONDS_MAX)
            new = [place for place in begun if place.offset < 0]
            for place in new:
                _, place.offset = consumer.get_watermark_offsets(place, BEGIN_SECONDS_MAX)
            if new:
                consumer.commit(offsets=new, asynchronous=False)
                consumer.assign(begun)
        except KafkaException as failure:
            say(f"penstock: group {self._group} could not commit where it begins: {failure.args[0].str()}")

    def _take_error(self, message: Message, error: object) -> None:
        from confluent_kafka import KafkaError

        assert isinstance(error, KafkaError)
        if error.code() == KafkaError._PARTITION_EOF:
            self._ended.add((message.topic(), message.partition()))
        elif error.retriable() or error.code() == KafkaError._MAX_POLL_EXCEEDED:
            say(f"penstock: group {self._group}: {error.str()}; trying again")
        else:
            raise ClientError(f"group {self._group}: {error.str()}")

    def _take_news(self, text: str) -> None:
        """Whether any broker is connected. Before the first one ever was, the client is only on its way to it."""
        news = json.loads(text)
        connected = any(broker["state"] == "UP" for broker in news["brokers"].values())
        self._was_connected |= connected
        self._has_brokers = connected or not self._was_connected
        self._has_coordinator = news.get("cgrp", {}).get("state", "up") == "up"

    def _watch(self) -> None:
        if not self._has_brokers:
            self._outage.goes_on(Unreachable(self._bootstrap, "the connection is lost"))
        elif not self._has_coordinator:
            nobody = ClientError(f"group {self._group} has no coordinator", hint="see `penstock cluster health`")
            self._outage.goes_on(nobody, COORDINATOR_SECONDS)
        else:
            self._outage.is_over()
            self._give_up_what_is_silent()

    def _give_up_what_is_silent(self) -> None:
        """A partition that nobody leads has an end as well, but nobody who tells where."""
        if self._follow or self._patience is None or time.monotonic() - self._heard < self._patience:
            return
        held = {(place.topic, place.partition) for place in self._consumer.assignment()}
        if silent := sorted(f"{topic}-{number}" for topic, number in held - self._ended):
            raise ClientError(
                f"nobody answers for {names_text(silent)}: nothing is read from there",
                hint="see `penstock cluster health`",
            )


def _found(message: Message) -> tuple[TopicPartition, Record]:
    """A record out of the other client's message, which has a place because it carries no error."""
    where = TopicPartition(str(message.topic()), int(message.partition() or 0))
    _, timestamp = message.timestamp()
    headers = tuple((str(header[0]), _bytes(header[1])) for header in message.headers() or ())
    return where, Record(int(message.offset() or 0), timestamp, _bytes(message.key()), _bytes(message.value()), headers)


def _bytes(content: str | bytes | None) -> bytes | None:
    return content.encode() if isinstance(content, str) else content
