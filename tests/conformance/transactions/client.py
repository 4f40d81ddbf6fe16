"""What the scenarios ask of a client library. Each one has a file beside this that says it in its own words."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol, TypeVar

T = TypeVar("T")
DEADLINE_S = 30.0
POLL_S = 0.2
TIMEOUT_MS = 60_000
"""Of a transaction, unless a scenario is about that."""


class Refused(Exception):
    """The library gave up on a call, in the words of its own error."""


class Writer(Protocol):
    """A transactional producer that has introduced itself."""

    def begin(self) -> None: ...

    def send(self, topic: str, value: str) -> None:
        """Returns when the broker has acknowledged it."""
        ...

    def queue(self, topic: str, partition: int, value: str) -> None:
        """Does not wait: what has become of it is told when the transaction ends."""
        ...

    def add_offset(self, group: str, topic: str, partition: int, offset: int) -> None:
        """Make a group's offset a part of the transaction, as somebody who is no member."""
        ...

    def copy(self, source: str, target: str, group: str, count: int) -> None:
        """As a member of a group, read so many records, write them elsewhere, and make the group's offsets a part of
        the transaction."""
        ...

    def commit(self) -> None: ...

    def abort(self) -> None: ...

    def close(self) -> None: ...


class Reader(Protocol):
    """Reads a topic from its beginning, committed records only."""

    def poll(self) -> list[str]:
        """What comes within `POLL_S`."""
        ...

    def close(self) -> None: ...


class Library(Protocol):
    def writer(self, bootstrap: str, transactional_id: str, timeout_ms: int = TIMEOUT_MS) -> Writer: ...

    def reader(self, bootstrap: str, topic: str) -> Reader: ...


@contextmanager
def refusing(*errors: type[Exception]) -> Iterator[None]:
    """The library's own errors, told in one way."""
    try:
        yield
    except errors as error:
        raise Refused(f"{type(error).__name__}: {error}") from error


def read_until(reader: Reader, last: str) -> list[str]:
    """All that comes, the last one included."""
    found: list[str] = []
    deadline = time.monotonic() + DEADLINE_S
    while last not in found:
        assert time.monotonic() < deadline, f"{last} did not come; what came: {found}"
        found += reader.poll()
    return found


def gather(poll: Callable[[], list[T]], count: int) -> list[T]:
    """Exactly as many as are wanted."""
    found: list[T] = []
    deadline = time.monotonic() + DEADLINE_S
    while len(found) < count:
        assert time.monotonic() < deadline, f"{len(found)} of {count} records came"
        found += poll()
    return found
