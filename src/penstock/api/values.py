"""What goes in and comes out: records, the place a record got, and how Python values become bytes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from confluent_kafka import Message

Serializer = Callable[[Any], bytes | None]
Headers = Mapping[str, str | bytes | None] | Iterable[tuple[str, str | bytes | None]]


@dataclass(frozen=True, slots=True)
class Sent:
    """Where a record is, once the broker has acknowledged it."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int


@dataclass(frozen=True, slots=True)
class Record:
    """One record, as a consumer reads it."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = field(default=())
    leader_epoch: int | None = None

    @property
    def text(self) -> str:
        """The value as UTF-8 text; a tombstone is empty."""
        return "" if self.value is None else self.value.decode()

    def json(self) -> Any:
        """The value as JSON; a tombstone is None."""
        return None if self.value is None else json.loads(self.value)

    def header(self, name: str) -> bytes | None:
        """The last header of that name."""
        return next((value for key, value in reversed(self.headers) if key == name), None)


def as_bytes(value: Any) -> bytes | None:
    """Bytes as they are, text as UTF-8, None as no value. Anything else needs a serializer, so that nobody stores
    `str(an_object)` without noticing."""
    if value is None or isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, (bytearray, memoryview)):
        return bytes(value)
    raise TypeError(
        f"keys and values are bytes, str or None, not {type(value).__name__}; "
        "give the producer a serializer, such as value_serializer=penstock.to_json"
    )


def to_json(value: Any) -> bytes | None:
    """A serializer: compact JSON in UTF-8, None as a tombstone."""
    return None if value is None else json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def as_headers(headers: Headers | None) -> list[tuple[str, bytes | None]]:
    pairs = headers.items() if isinstance(headers, Mapping) else headers or ()
    return [(name, as_bytes(value)) for name, value in pairs]


def sent_of(message: Message) -> Sent:
    return Sent(str(message.topic()), _number(message.partition()), _number(message.offset()), message.timestamp()[1])


def record_of(message: Message) -> Record:
    return Record(
        str(message.topic()),
        _number(message.partition()),
        _number(message.offset()),
        message.timestamp()[1],
        as_bytes(message.key()),
        as_bytes(message.value()),
        tuple((str(pair[0]), as_bytes(pair[1])) for pair in message.headers() or ()),
        message.leader_epoch(),
    )


def _number(number: int | None) -> int:
    return -1 if number is None else number
