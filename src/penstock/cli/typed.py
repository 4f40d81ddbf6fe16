"""`--schema` of produce and consume: values as JSON on this side, in the bytes of a registry's schema on the other."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from penstock.cli import schema_registry
from penstock.cli.json_record import NewRecord
from penstock.cli.output import json_text
from penstock.cli.record_format import Formatter
from penstock.cli.talk import Refused
from penstock.client.metadata import TopicPartition
from penstock.core.records.record import Record
from penstock.schemas.typed.wire import KEY_HEADER, VALUE_HEADER

if TYPE_CHECKING:
    from penstock.api.schemas import Schemas

LATEST: Final = "latest"
WriteSchema = Annotated[
    str | None,
    typer.Option(
        "--schema",
        metavar="latest|FILE",
        help="Values are JSON, written by TOPIC-value's latest schema, or by one that is registered.",
    ),
]
ReadSchema = Annotated[
    bool, typer.Option("--schema", help="Print values (and keys) as JSON, by the schemas that they name.")
]


def typed_reader(
    read: Callable[[bytes], NewRecord], schema: str | None, topic: str, registry: str
) -> Callable[[bytes], NewRecord]:
    """What reads lines, with values turned into bytes where a schema is named."""
    if schema is None:
        return read
    subject = f"{topic}-value"
    schemas = _schemas(registry)
    if schema == LATEST:
        serialize = schemas.serializer(subject)
    else:
        file = Path(schema)
        type = schema_registry.type_of(None, file)
        serialize = schemas.serializer(subject, schema_registry.text_of(file), type)

    def typed(line: bytes) -> NewRecord:
        from penstock.schemas.model import SchemaError

        record = read(line)
        if record.value is None:
            return record
        try:
            return record._replace(value=serialize(json.loads(record.value)))
        except SchemaError as failure:
            raise Refused(f"the line {line[:60].decode(errors='replace')!r}: {failure}") from None
        except (ValueError, RecursionError):
            raise Refused(
                f"the value {record.value[:60].decode(errors='replace')!r} is not JSON",
                "with --schema, values are JSON",
            ) from None

    return typed


def typed_printer(printer: Formatter, registry: str) -> Formatter:
    """What prints records, with values and keys turned into JSON where they name a schema."""
    schemas = _schemas(registry)

    def shown(data: bytes | None, record: Record, name: str) -> bytes | None:
        # What names no schema is shown as it is: not all keys have one.
        if data is None or (data[:1] != b"\x00" and all(key != name for key, _ in record.headers)):
            return data
        from penstock.schemas.model import SchemaError

        try:
            return json_text(schemas.deserialize(data, record.headers, is_key=name == KEY_HEADER)).encode()
        except SchemaError as failure:
            raise Refused(f"a record cannot be read: {failure}", "leave --schema out to see its bytes") from None

    def print_record(where: TopicPartition, record: Record) -> bytes:
        key, value = shown(record.key, record, KEY_HEADER), shown(record.value, record, VALUE_HEADER)
        return printer(where, record._replace(key=key, value=value))

    return print_record


def _schemas(registry: str) -> Schemas:
    from penstock.api.schemas import Schemas

    return Schemas(registry)
