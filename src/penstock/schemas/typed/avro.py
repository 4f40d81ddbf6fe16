"""Avro's binary form. In JSON, bytes are texts of Latin-1, as Avro has it, and a union's value stands for itself."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from typing import Any

from penstock.schemas.avro.schema import parse_avro
from penstock.schemas.model import Reference, SchemaError


class AvroCodec:
    def __init__(self, text: str, references: Sequence[Reference] = ()) -> None:
        import fastavro

        parse_avro(text, references)
        self._named: dict[str, Any] = {}
        for each in references:
            fastavro.parse_schema(_plain(json.loads(each.text)), self._named)
        document = json.loads(text) if text.strip()[:1] in '{["' else text.strip()
        self._schema = fastavro.parse_schema(_plain(document), self._named)

    def encode(self, value: Any) -> bytes:
        import fastavro

        out = io.BytesIO()
        try:
            fastavro.schemaless_writer(out, self._schema, self._taken(self._schema, value), strict_allow_default=True)
        except (ValueError, TypeError, KeyError, AttributeError, OverflowError, IndexError) as failure:
            raise SchemaError(f"the value does not fit its schema: {failure}"[:300]) from None
        return out.getvalue()

    def decode(self, payload: bytes) -> Any:
        import fastavro

        data = io.BytesIO(payload)
        try:
            found = fastavro.schemaless_reader(data, self._schema, None)
        except Exception as failure:
            # The library fails in as many ways as bytes can be wrong.
            raise SchemaError(f"the value does not fit its schema: {failure}"[:300]) from None
        if data.tell() != len(payload):
            raise SchemaError(f"{len(payload) - data.tell()} bytes are left behind the value")
        return _shown(found)

    def _taken(self, schema: Any, value: Any) -> Any:
        """With bytes where the schema has some, and where JSON has a text."""
        if isinstance(schema, str):
            schema = self._named.get(schema, schema)
        if isinstance(schema, list):
            return self._branch(schema, value)
        kind = schema.get("type") if isinstance(schema, dict) else schema
        if kind in ("bytes", "fixed") and isinstance(value, str):
            return value.encode("latin-1")
        if kind == "array" and isinstance(value, list):
            return [self._taken(schema["items"], each) for each in value]
        if kind == "map" and isinstance(value, dict):
            return {name: self._taken(schema["values"], each) for name, each in value.items()}
        if kind in ("record", "error") and isinstance(value, dict):
            kinds = {field["name"]: field["type"] for field in schema["fields"]}
            if unknown := [name for name in value if name not in kinds]:
                raise ValueError(f"{schema['name']} has no field {unknown[0]!r}")
            return {name: self._taken(kinds[name], each) for name, each in value.items()}
        return self._taken(kind, value) if isinstance(kind, dict | list) else value

    def _branch(self, branches: list[Any], value: Any) -> Any:
        """The value as the first branch takes it that does."""
        from fastavro.validation import validate

        for branch in branches:
            try:
                taken = self._taken(branch, value)
                if validate(
                    taken, self._named.get(branch, branch) if isinstance(branch, str) else branch, raise_errors=False
                ):
                    return taken
            except (ValueError, KeyError):
                continue
        return value


def _plain(node: Any) -> Any:
    """Without logical types: a moment is the number that is written, in JSON too."""
    if isinstance(node, dict):
        return {
            name: each if name == "default" else _plain(each) for name, each in node.items() if name != "logicalType"
        }
    return [_plain(each) for each in node] if isinstance(node, list) else node


def _shown(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode("latin-1")
    if isinstance(value, dict):
        return {name: _shown(each) for name, each in value.items()}
    return [_shown(each) for each in value] if isinstance(value, list) else value
