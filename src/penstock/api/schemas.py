"""Typed values through a schema registry: serialisers for producers, the way back for consumers, and the frame itself.

schemas = Schemas("http://127.0.0.1:8081")
producer = Producer("127.0.0.1:9092", value_serializer=schemas.serializer("orders-value"))
for record in Consumer(...):
    order = schemas.deserialize(record.value)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from penstock.client.registry import Registered, RegistryClient
from penstock.schemas.model import Format, Reference
from penstock.schemas.typed.codecs import Codec, codec_of
from penstock.schemas.typed.wire import KEY_HEADER, VALUE_HEADER, frame, named_in, unframe

Headers = Iterable[tuple[str, bytes | None]]

__all__ = ["Schemas", "frame", "unframe"]


class Schemas:
    """A registry, and what has been read from it. For one thread."""

    def __init__(self, urls: str, *, ca: str | None = None) -> None:
        """Addresses with commas between them; a name and a password may stand in each. `ca`: see `RegistryClient`."""
        self._client = RegistryClient(urls, ca=ca)
        self._codecs: dict[int | str, Codec] = {}

    def serializer(self, subject: str, schema: str | None = None, type: str = "AVRO") -> Callable[[Any], bytes | None]:
        """Writes values as JSON has them, of the subject's latest schema, or of one that is registered if need be."""
        id = self._client.version(subject).id if schema is None else self._client.register(subject, type, schema)
        codec = self._codec(id)

        def serialize(value: Any) -> bytes | None:
            return None if value is None else frame(id, codec.encode(value))

        return serialize

    def deserialize(self, data: bytes | None, headers: Headers = (), *, is_key: bool = False) -> Any:
        """The value as JSON has it, by the schema that a header names, or the id in front; SchemaError if none is,
        or the value does not fit."""
        if data is None:
            return None
        named = named_in(headers, KEY_HEADER if is_key else VALUE_HEADER)
        if named is not None:
            return self._codec(named).decode(data)
        id, payload = unframe(data)
        return self._codec(id).decode(payload)

    def _codec(self, id: int | str) -> Codec:
        if id not in self._codecs:
            found: Registered = self._client.by_id(id)
            references = [Reference(name, text) for name, text in self._client.referred(found)]
            self._codecs[id] = codec_of(Format(found.type.lower()), found.text, references)
        return self._codecs[id]
