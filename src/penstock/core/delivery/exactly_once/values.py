"""What the commit protocol speaks of: who writes, what a task has written, and the record that makes it count."""

from __future__ import annotations

import json
from typing import Any, Final

from penstock.core.base.errors import PenstockError
from penstock.core.base.values import frozen, replaced

RECORD_VERSION: Final = 1


@frozen
class Producer:
    """A producer id in one of its epochs."""

    id: int
    epoch: int


@frozen
class Place:
    """Where a record of a transaction is: the log itself says what became of it, when nobody else remembers."""

    topic: str
    partition: int
    offset: int


@frozen
class Part:
    """What one task has written and flushed, in a transaction that it has left open."""

    task: str
    transactional_id: str
    writer: Producer
    rows: int
    checksum: int
    """Of the rows, in whatever order: who writes them again must write the same ones."""
    place: Place
    ender: Producer | None = None
    """Who may end it, where that is no longer the writer: the driver has taken it over, and it has no timeout."""

    @property
    def actor(self) -> Producer:
        return self.ender or self.writer


@frozen
class CommitRecord:
    """The commit point: once it is readable in the commit topic, its batch counts, whatever happens to whom."""

    query: str
    owner: str
    """Spark's own id of the query, which is in its checkpoint: tells two queries of one name apart."""
    checkpoint: str
    batch: int
    tasks: int
    parts: tuple[Part, ...]
    settled: tuple[Part, ...] = ()
    """Parts of the same batch that are committed already, where others of it are written again."""
    facts: str = ""
    """What else is to be known of the batch, as JSON: how far it read, how much went where."""

    @property
    def all_parts(self) -> tuple[Part, ...]:
        return self.parts + self.settled

    def replacing(self, **changes: object) -> CommitRecord:
        return replaced(self, **changes)


class UnreadableRecord(PenstockError):
    """A record of the commit topic that this version cannot read."""


def encoded(record: CommitRecord) -> bytes:
    names = ("query", "owner", "checkpoint", "batch", "tasks", "facts")
    fields = {"version": RECORD_VERSION, **{name: getattr(record, name) for name in names}}
    lists = {"parts": list(map(_packed, record.parts)), "settled": list(map(_packed, record.settled))}
    return json.dumps(fields | lists, separators=(",", ":")).encode()


def decoded(value: bytes) -> CommitRecord:
    try:
        fields: dict[str, Any] = json.loads(value)
        if fields.pop("version") != RECORD_VERSION:
            raise UnreadableRecord("the commit topic was written by a newer version of Penstock: use that one")
        parts, settled = (tuple(map(_unpacked, fields.pop(name))) for name in ("parts", "settled"))
        return CommitRecord(**fields, parts=parts, settled=settled)
    except (ValueError, KeyError, TypeError) as failure:
        raise UnreadableRecord(f"a record of the commit topic cannot be read: {failure}") from failure


def _packed(part: Part) -> list[Any]:
    """A list rather than an object: a batch may have thousands of tasks."""
    ender = None if part.ender is None else [part.ender.id, part.ender.epoch]
    writer, place = [part.writer.id, part.writer.epoch], [part.place.topic, part.place.partition, part.place.offset]
    return [part.task, part.transactional_id, writer, part.rows, part.checksum, place, ender]


def _unpacked(packed: list[Any]) -> Part:
    task, transactional_id, writer, rows, checksum, place, ender = packed
    by_whom = None if ender is None else Producer(*ender)
    return Part(task, transactional_id, Producer(*writer), rows, checksum, Place(*place), by_whom)
