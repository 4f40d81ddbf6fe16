"""Protobuf's binary form, with the indexes of the message in front. In JSON, as Protobuf itself maps it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.schemas.model import Reference, SchemaError
from penstock.schemas.protobuf.encoding import descriptors_of

FIRST = b"\x00"
"""The indexes of the first message of a file."""
FILE = "penstock/value.proto"


class ProtobufCodec:
    """Writes the first message of the file; reads whichever is named."""

    def __init__(self, text: str, references: Sequence[Reference] = ()) -> None:
        from google.protobuf import (
            any_pb2,
            descriptor_pool,
            duration_pb2,
            empty_pb2,
            field_mask_pb2,
            struct_pb2,
            timestamp_pb2,
            wrappers_pb2,
        )

        pool = descriptor_pool.DescriptorPool()
        known = (any_pb2, duration_pb2, empty_pb2, field_mask_pb2, struct_pb2, timestamp_pb2, wrappers_pb2)
        for module in known:
            pool.AddSerializedFile(module.DESCRIPTOR.serialized_pb)
        try:
            for each in descriptors_of(FILE, text, references):
                pool.AddSerializedFile(each.SerializeToString())
            self._file = pool.FindFileByName(FILE)
        except (TypeError, KeyError) as failure:
            raise SchemaError(f"the schema cannot be used here: {failure}"[:300]) from None
        self._pool = pool
        if not self._file.message_types_by_name:
            raise SchemaError("the schema defines no message")

    def message(self, name: str | None) -> Any:
        """A message by its name, with the package or without; the first one if none is said."""
        found = self._file.message_types_by_name
        if name is None:
            return next(iter(found.values()))
        for each in found.values():
            if name in (each.name, each.full_name):
                return each
        raise SchemaError(f"the schema has no message {name}: it has {', '.join(found)}")

    def encode(self, value: Any) -> bytes:
        from google.protobuf import json_format, message_factory

        message = message_factory.GetMessageClass(self.message(None))()
        try:
            json_format.ParseDict(value, message, descriptor_pool=self._pool)
            return FIRST + bytes(message.SerializeToString())
        except (json_format.ParseError, ValueError, TypeError, AttributeError) as failure:
            raise SchemaError(f"the value does not fit its schema: {failure}"[:300]) from None

    def decode(self, payload: bytes) -> Any:
        from google.protobuf import json_format, message_factory
        from google.protobuf.message import DecodeError

        descriptor, at = self.named(payload)
        message = message_factory.GetMessageClass(descriptor)()
        try:
            message.ParseFromString(payload[at:])
            return json_format.MessageToDict(
                message,
                preserving_proto_field_name=True,
                descriptor_pool=self._pool,
                always_print_fields_with_no_presence=True,
            )
        except (DecodeError, json_format.Error, ValueError) as failure:
            raise SchemaError(f"the value does not fit its schema: {failure}"[:300]) from None

    def named(self, payload: bytes) -> tuple[Any, int]:
        """The message that the indexes in front name, and where it begins."""
        count, at = _zigzag(payload, 0)
        path = []
        for _ in range(count):
            index, at = _zigzag(payload, at)
            path.append(index)
        found: Any = None
        messages = list(self._file.message_types_by_name.values())
        for index in path or [0]:
            if not 0 <= index < len(messages):
                raise SchemaError(f"the schema has no message {path}")
            found = messages[index]
            messages = list(found.nested_types)
        return found, at


def _zigzag(data: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while at < len(data) and shift < 35:
        byte = data[at]
        at += 1
        number |= (byte & 127) << shift
        if byte < 128:
            return (number >> 1) ^ -(number & 1), at
        shift += 7
    raise SchemaError("the value does not say which message it is")
