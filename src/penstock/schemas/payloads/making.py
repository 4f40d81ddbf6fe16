"""The way from a schema as the registry has it to what reads payloads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Final

from penstock.core.records.schema_ids import Check, SchemaText
from penstock.schemas.model import REFERENCES_MAX, Reference, SchemaError
from penstock.schemas.payloads.avro import avro_check
from penstock.schemas.payloads.json import json_check
from penstock.schemas.payloads.protobuf import protobuf_check

KEPT_MAX: Final = 256
"""Schemas whose reading is prepared already, in each process."""

_MAKERS: Final[dict[str, Callable[[str, Sequence[Reference]], Check]]] = {
    "AVRO": avro_check,
    "JSON": json_check,
    "PROTOBUF": protobuf_check,
}


def make_check(schema: SchemaText) -> Check:
    """ValueError: nobody can read payloads of this schema here, for the reason it has."""
    check = _made(schema)
    if isinstance(check, str):
        raise ValueError(check)
    return check


@lru_cache(KEPT_MAX)
def _made(schema: SchemaText) -> Check | str:
    """A schema that cannot be used is met again with each batch, too."""
    make = _MAKERS.get(schema.format)
    if make is None:
        return f"it is of the format {schema.format[:20]}"
    if len(schema.references) > REFERENCES_MAX:
        return f"it has more than {REFERENCES_MAX} references"
    try:
        return make(schema.text, [Reference(name, text) for name, text in schema.references])
    except SchemaError as failure:
        return str(failure)
