"""From a text to a schema, format by format."""

from collections.abc import Callable, Sequence
from pathlib import PurePath
from typing import Final

from penstock.schemas.avro.schema import parse_avro
from penstock.schemas.jsonschema.schema import parse_json
from penstock.schemas.model import REFERENCES_MAX, Format, Reference, Schema, SchemaError
from penstock.schemas.protobuf.schema import parse_protobuf

_PARSERS: Final[dict[Format, Callable[[str, Sequence[Reference]], Schema]]] = {
    Format.AVRO: parse_avro,
    Format.JSON: parse_json,
    Format.PROTOBUF: parse_protobuf,
}
_SUFFIXES: Final = {".avsc": Format.AVRO, ".json": Format.JSON, ".proto": Format.PROTOBUF}


def parse(format: Format, text: str, references: Sequence[Reference] = ()) -> Schema:
    if len(references) > REFERENCES_MAX:
        raise SchemaError(f"the schema has {len(references)} references, {REFERENCES_MAX} are allowed")
    names = [each.name for each in references]
    if len(set(names)) < len(names):
        raise SchemaError("two references have the same name")
    return _PARSERS[format](text, references)


def format_of(name: str) -> Format | None:
    """The format of a file, by how its name ends."""
    return _SUFFIXES.get(PurePath(name).suffix.lower())
