"""Reading as a member of a group: membership is the work of a full client, which is loaded only for this."""

from __future__ import annotations

import json
import signal
import sys
import threading
from collections.abc import Callable, Generator, Iterator, Sized
from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING

from penstock.cli.outage import Outage
from penstock.cli.talk import Refused, say
from penstock.client.errors import ClientError, Unreachable
from penstock.client.metadata import TopicPartition
from penstock.client.offsets import READ_COMMITTED
from penstock.core.records.record import Record

if TYPE_CHECKING:
    from confluent_kafka import Consumer, Message

POLL_SECONDS = 0.2
# How often the client underneath tells which brokers it is connected to, which it says in no other way.
NEWS_MS = 500
COMMIT_MS = 1000
# Printed records are flushed and counted as done when there is a pause, or after so many.
UNSETTLED_RECORDS_MAX = 1000
LEAVE_SECONDS_MAX = 5.0


def read_as_group(
    bootstrap: str,
    group: str,
    topics: list[str],
    from_: str,
    follow: bool,
    isolation: int,
    count: int | None,
    patience: float | None,
) -> Generator[tuple[TopicPartition, Record]]:
    """The group's next records. One may be committed once it was printed, that is when the next one is asked for and
    the output is flushed."""
    if from_ not in ("earliest", "latest"):
        raise Refused(
            "a group continues where it is: --from takes only earliest or latest, for partitions it has not begun",
            f"move it with: penstock group reset {group} --topic {topics[0]} --to {from_} --execute",
        )
    member = _Member(bootstrap, group, from_, follow, isolation, patience)
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

    def __init__(
        self, bootstrap: str, group: str, from_: str, follow: bool, isolation: int, patience: float | None
    ) -> None:
        from confluent_kafka import Consumer

        self._bootstrap = bootstrap
        self._group = group
        self._follow = follow
        self._outage = Outage(patience)
        self._has_brokers = True
        self._was_connected = False
        self._is_idle = False
        self._ended: set[tuple[str | None, int | None]] = set()
        self.unsettled: list[Message] = []
        self._consumer: Consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": group,
                "client.id": "penstock-cli",
                "auto.offset.reset": from_,
                # Stored offsets are committed in the background; they are stored by us, once a record is printed.
                "enable.auto.commit": True,
                "auto.commit.interval.ms": COMMIT_MS,
                "enable.auto.offset.store": False,
                "enable.partition.eof": not follow,
                "isolation.level": "read_committed" if isolation == READ_COMMITTED else "read_uncommitted",
                "statistics.interval.ms": NEWS_MS,
                "stats_cb": self._take_news,
                "log_level": 0,
            }
        )

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
            elif (error := message.error()) is None:
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
        goodbye.join(LEAVE_SECONDS_MAX if self._has_brokers else 0)
        if goodbye.is_alive():
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

    def _take_assignment(self, _: Consumer, partitions: Sized) -> None:
        # Only a broker can have given us partitions.
        self._was_connected = True
        self._ended.clear()
        self._is_idle = not partitions
        if self._is_idle:
            say(f"penstock: the other members of group {self._group} hold all partitions")

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
        connected = any(broker["state"] == "UP" for broker in json.loads(text)["brokers"].values())
        self._was_connected |= connected
        self._has_brokers = connected or not self._was_connected

    def _watch(self) -> None:
        if self._has_brokers:
            self._outage.is_over()
        else:
            self._outage.goes_on(Unreachable(self._bootstrap, "the connection is lost"))


def _found(message: Message) -> tuple[TopicPartition, Record]:
    """A record out of the other client's message, which has a place because it carries no error."""
    where = TopicPartition(str(message.topic()), int(message.partition() or 0))
    _, timestamp = message.timestamp()
    headers = tuple((str(header[0]), _bytes(header[1])) for header in message.headers() or ())
    return where, Record(int(message.offset() or 0), timestamp, _bytes(message.key()), _bytes(message.value()), headers)


def _bytes(content: str | bytes | None) -> bytes | None:
    return content.encode() if isinstance(content, str) else content
