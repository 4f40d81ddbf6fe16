"""Which schema a key or a value says it was written with, and what a topic demands of that.

Clients of a registry put a zero byte and the schema's id, four bytes, before the payload; or its GUID, which is made
from its content, into a header (a one, then sixteen bytes). Of Protobuf, which message of the file it is follows the id
or the GUID, wherever that stands.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

PREFIX_BYTES: Final = 5
GUID_BYTES: Final = 16
KEY_HEADER: Final = "__key_schema_id"
VALUE_HEADER: Final = "__value_schema_id"

OFF: Final = "off"
BY_PAYLOAD: Final = "payload"

BY_TOPIC: Final = "topic"
BY_RECORD: Final = "record"


class Demand(NamedTuple):
    """What a topic demands of its keys, or of its values. `strategy` says under which subject a schema has to be."""

    of_key: bool
    mode: str
    strategy: str

    @property
    def reads_payloads(self) -> bool:
        return self.mode == BY_PAYLOAD

    @property
    def part(self) -> str:
        return "key" if self.of_key else "value"


class Named(NamedTuple):
    """The schema that a key or a value names: its number, or its GUID."""

    of_key: bool
    id: int | bytes

    def __str__(self) -> str:
        return f"schema {self.id.hex() if isinstance(self.id, bytes) else self.id}"


class SchemaText(NamedTuple):
    """A schema with those it refers to, each under the name by which schemas call it, what others need first."""

    format: str
    text: str
    references: tuple[tuple[str, str], ...] = ()


class Misfit(NamedTuple):
    """Where a payload contradicts its schema, and how."""

    field: str
    reason: str


Verdict = SchemaText | str | None
"""Of a schema that was named: how payloads are to be read, or why it cannot be, or that nothing else is asked."""
Verdicts = Mapping[Named, Verdict]
Check = Callable[[bytes], Misfit | None]
MakeCheck = Callable[[SchemaText], Check]
"""Makes what reads payloads; importable, since it is called where the records are read. ValueError: nobody can."""


class Known(NamedTuple):
    """What the reader of a batch is told of schemas. `heads`: with these bytes values begin that need no other look."""

    verdicts: Verdicts
    make_check: MakeCheck | None
    heads: frozenset[bytes] = frozenset()


NOTHING_KNOWN: Final = Known({}, None)


def known_of(verdicts: Verdicts, make_check: MakeCheck | None) -> Known:
    heads = (
        b"\0" + schema.id.to_bytes(PREFIX_BYTES - 1, "big")
        for schema, verdict in verdicts.items()
        if isinstance(schema.id, int) and not schema.of_key and verdict is None
    )
    return Known(verdicts, make_check, frozenset(heads))


class SchemasWanted(Exception):
    """The records name schemas of which their reader was not told."""

    def __init__(self, schemas: frozenset[Named]) -> None:
        super().__init__()
        self.schemas = schemas


def are_of_heads(demands: tuple[Demand, ...]) -> bool:
    """Whether the heads of values may say enough."""
    return len(demands) == 1 and not demands[0].of_key and not demands[0].reads_payloads


def demands_of(key: tuple[str, str], value: tuple[str, str]) -> tuple[Demand, ...]:
    """From a mode and a strategy each; empty where nothing is demanded."""
    both = (Demand(True, *key), Demand(False, *value))
    return tuple(each for each in both if each.mode != OFF)


def named_in_payload(of_key: bool, payload: bytes) -> tuple[Named, bytes] | str:
    """The schema that stands before a payload, and what follows; or what is wrong."""
    if len(payload) < PREFIX_BYTES or payload[0]:
        return "does not begin with a zero byte and the id of a schema"
    return Named(of_key, int.from_bytes(payload[1:PREFIX_BYTES], "big")), payload[PREFIX_BYTES:]


def named_in_header(of_key: bool, data: bytes, payload: bytes) -> tuple[Named, bytes] | str:
    """The same of one that a header names."""
    if data[:1] == b"\1" and len(data) > GUID_BYTES:
        end = 1 + GUID_BYTES
        return Named(of_key, data[1:end]), data[end:] + payload
    if data[:1] == b"\0" and len(data) >= PREFIX_BYTES:
        return Named(of_key, int.from_bytes(data[1:PREFIX_BYTES], "big")), data[PREFIX_BYTES:] + payload
    return "has a header that names no schema"
