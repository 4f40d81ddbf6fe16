"""JSON under a schema: the text itself, checked."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from penstock.schemas.jsonschema.schema import DEFAULT_DRAFT, parse_json
from penstock.schemas.model import Reference, SchemaError


class JsonCodec:
    def __init__(self, text: str, references: Sequence[Reference] = ()) -> None:
        import jsonschema_rs

        root = parse_json(text, references).documents.main.root
        if isinstance(root, dict):
            root = {"$schema": DEFAULT_DRAFT} | root
        given = [(each.name, json.loads(each.text)) for each in references]
        registry = jsonschema_rs.Registry(given) if given else None
        self._validator = jsonschema_rs.validator_for(root, registry=registry)

    def encode(self, value: Any) -> bytes:
        self._check(value)
        return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()

    def decode(self, payload: bytes) -> Any:
        try:
            return json.loads(payload)
        except (ValueError, RecursionError) as failure:
            raise SchemaError(f"the value is not JSON: {failure}") from None

    def _check(self, value: Any) -> None:
        failure = next(self._validator.iter_errors(value), None)
        if failure is not None:
            place = "/".join(map(str, failure.instance_path))
            raise SchemaError(f"the value does not fit its schema: {failure.message[:200]} (at #/{place})")
