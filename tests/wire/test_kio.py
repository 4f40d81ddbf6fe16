"""Differential test against `kio`, whose codecs are generated from Kafka's definitions by other people."""

import dataclasses
import datetime
import re
from importlib import import_module
from io import BytesIO
from typing import Any
from uuid import UUID

import pytest
from kio.serial import entity_reader, entity_writer

from penstock.core.wire.fields import STRUCT, ZERO_UUID
from penstock.core.wire.schema import Message, Request, Response, Struct
from tests.examples import scaled
from tests.wire.arbitrary import Arbitrary
from tests.wire.catalog import all_messages

EXAMPLES = scaled(5)
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
MILLISECOND = datetime.timedelta(milliseconds=1)

KNOWN_DATA = {
    "ConsumerProtocolAssignment",
    "ConsumerProtocolSubscription",
    "ControlRecordTypeSchema",
    "DefaultPrincipalData",
    "EndTxnMarker",
    "KRaftVersionRecord",
    "LeaderChangeMessage",
    "SnapshotFooterRecord",
    "SnapshotHeaderRecord",
}
"""What `kio` knows beyond requests and responses; of those it knows every one."""


def kio_class(message: type[Message], version: int) -> type[Any]:
    name = message.__name__
    role = "request" if issubclass(message, Request) else "response" if issubclass(message, Response) else "data"
    stem = name if role == "data" else name[: -len(role)]
    package = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", stem).lower()
    found: type[Any] = getattr(import_module(f"kio.schema.{package}.v{version}.{role}"), name)
    return found


def kio_values(value: Any) -> Any:
    """A kio entity as nested lists of plain values, in the order of its fields."""
    if dataclasses.is_dataclass(value):
        return [kio_values(getattr(value, field.name)) for field in dataclasses.fields(value)]
    if isinstance(value, tuple):
        return [kio_values(item) for item in value]
    if isinstance(value, datetime.datetime):
        return round((value - EPOCH) / MILLISECOND)
    if isinstance(value, datetime.timedelta):
        return round(value / MILLISECOND)
    return value.bytes if isinstance(value, UUID) else value


def our_values(value: Any, version: int) -> Any:
    """A message of ours as the same nested lists."""
    if isinstance(value, list):
        return [our_values(item, version) for item in value]
    if not isinstance(value, Struct):
        return value
    values = []
    for field in type(value).SPEC.fields:
        if not field.exists_in(version):
            continue
        inner = getattr(value, field.name)
        if inner is None and field.kind == STRUCT and field.tagged_in(version) and not field.nullable_in(version):
            assert field.struct is not None
            inner = field.struct.python_class()
        # The zero uuid is no uuid at all to kio.
        values.append(None if inner == ZERO_UUID else our_values(inner, version))
    return values


@pytest.mark.parametrize(
    "message",
    [m for m in all_messages() if issubclass(m, Request | Response) or m.__name__ in KNOWN_DATA],
    ids=lambda message: message.__name__,
)
def test_same_bytes_and_same_values(message: type[Message]) -> None:
    for version in message.VERSIONS:
        theirs = kio_class(message, version)
        read, write = entity_reader(theirs), entity_writer(theirs)
        source = Arbitrary(f"kio {message.__name__} {version}", modest=True)
        for value in [source.message(message, version) for _ in range(EXAMPLES)]:
            encoded = value.encode(version)
            entity, size = read(encoded, 0)
            assert size == len(encoded)
            assert kio_values(entity) == our_values(value, version)
            written = BytesIO()
            write(written, entity)
            assert written.getvalue() == encoded
            assert message.decode(written.getvalue(), version) == value
