"""A topic as a table: a range of offsets that is fixed once, and read anew by each scan of the table.

DuckDB scans in threads of its own, and a statement may name a topic twice. So each scan has a connection of its own,
reads committed records only, and holds what one fetch brings, not more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

from penstock.cli.consume_range import Offsets, beginnings, chosen_partitions, ends_now, limits
from penstock.cli.output import json_text
from penstock.cli.querying.rows import ToText, batch_of, schema_of, text_of
from penstock.cli.talk import Refused
from penstock.client.blocking import Client
from penstock.client.offsets import READ_COMMITTED
from penstock.client.reading import Chunk, Reader
from penstock.core.records.record import Record


class Range(NamedTuple):
    """From where to where a topic is read."""

    topic: str
    starts: Offsets
    ends: Offsets


def range_of(client: Client, topic: str, from_: str, to: str | None) -> Range:
    places = chosen_partitions(client, topic, None)
    ends = ends_now(client, places, READ_COMMITTED)
    until = limits(client, ends, to, follow=False)
    assert until is not None, "only who follows has no end"
    return Range(topic, beginnings(client, places, ends, from_), until)


class TopicTable:
    """What DuckDB takes for an Arrow stream, as often as it wants."""

    def __init__(
        self,
        range: Range,
        columns: list[str],
        dial: Callable[[], Client],
        registry: str | None,
        failures: list[Exception],
    ) -> None:
        self._range = range
        self._schema = schema_of(columns)
        self._dial = dial
        self._registry = registry
        self._failures = failures

    def __arrow_c_schema__(self) -> object:
        return self._schema.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        import pyarrow as pa

        return pa.RecordBatchReader.from_batches(self._schema, self._batches()).__arrow_c_stream__(requested_schema)

    def _batches(self) -> Iterator[Any]:
        try:
            value = value_reader(self._registry)
            with self._dial() as client:
                for chunk in chunks(client, self._range.starts, self._range.ends):
                    yield batch_of(chunk.where, chunk.records, self._schema, value)
        except Exception as failure:
            self._failures.append(failure)
            raise


def chunks(client: Client, starts: Offsets, ends: Offsets) -> Iterator[Chunk]:
    reader = Reader(client, starts, until=ends, isolation=READ_COMMITTED)
    while reader.open:
        yield from reader.poll()


def sample(client: Client, range: Range, count: int, value: ToText) -> Iterator[str]:
    """Values from where a range begins, and as many from where it ends: what is new has fields that the old has not."""
    share = -(-count // (2 * max(1, len(range.starts))))
    for where, first in range.starts.items():
        end = range.ends[where]
        middle = min(end, first + share)
        for start, limit in ((first, middle), (max(middle, end - share), end)):
            found = (record for chunk in chunks(client, {where: start}, {where: limit}) for record in chunk.records)
            yield from filter(None, (text_of(value(record)) for record in islice(found, share)))


def value_reader(registry: str | None) -> ToText:
    """The bytes of a value; with a registry, JSON of those that name a schema."""
    if registry is None:
        return lambda record: record.value
    from penstock.api.schemas import Schemas

    return partial(_decoded, Schemas(registry))


def _decoded(schemas: Any, record: Record) -> bytes | None:
    from penstock.schemas.model import SchemaError
    from penstock.schemas.typed.wire import VALUE_HEADER

    data = record.value
    if data is None or (data[:1] != b"\x00" and all(name != VALUE_HEADER for name, _ in record.headers)):
        return data
    try:
        return json_text(schemas.deserialize(data, record.headers)).encode()
    except SchemaError as failure:
        raise Refused(
            f"the value at offset {record.offset} cannot be read: {failure}", "leave --registry out to see its bytes"
        ) from None
