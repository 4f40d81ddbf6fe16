"""Records as Arrow batches, of the columns that somebody wants."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from penstock.client.metadata import TopicPartition
from penstock.core.records.record import Record

# What Python's calendar has room for, as a table is printed by it.
TIMESTAMP_MS_END: Final = 253_402_300_800_000
ToText = Callable[[Record], bytes | None]


def schema_of(columns: Sequence[str]) -> Any:
    import pyarrow as pa

    header = pa.struct([("key", pa.string()), ("value", pa.string())])
    types = {
        "key": pa.string(),
        "value": pa.string(),
        "partition": pa.int32(),
        "offset": pa.int64(),
        "timestamp": pa.timestamp("ms"),
        "headers": pa.list_(header),
    }
    return pa.schema([(column, types[column]) for column in columns])


def batch_of(where: TopicPartition, records: Sequence[Record], schema: Any, value: ToText) -> Any:
    """The columns of a schema, out of the records of one partition."""
    import pyarrow as pa

    made: dict[str, Callable[[], Any]] = {
        "key": lambda: _texts([record.key for record in records]),
        "value": lambda: _texts([value(record) for record in records]),
        "partition": lambda: pa.repeat(pa.scalar(where.partition, pa.int32()), len(records)),
        "offset": lambda: pa.array([record.offset for record in records], pa.int64()),
        "timestamp": lambda: pa.array([_moment(record.timestamp) for record in records], pa.timestamp("ms")),
        "headers": lambda: pa.array([_headers(record) for record in records], schema.field("headers").type),
    }
    return pa.record_batch([made[name]() for name in schema.names], schema=schema)


def text_of(content: bytes | None) -> str | None:
    """Bytes that are no text are shown as escapes, and nothing is lost."""
    return None if content is None else content.decode(errors="backslashreplace")


def _texts(contents: list[bytes | None]) -> Any:
    import pyarrow as pa

    try:
        return pa.array(contents, pa.binary()).cast(pa.string())
    except pa.ArrowInvalid:
        return pa.array([text_of(content) for content in contents], pa.string())


def _moment(timestamp: int) -> int | None:
    return timestamp if 0 <= timestamp < TIMESTAMP_MS_END else None


def _headers(record: Record) -> list[dict[str, str | None]]:
    return [{"key": name, "value": text_of(content)} for name, content in record.headers]
