"""An Avro schema: parsed and checked by Avro's own library, its defaults by the library that reads data."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from penstock.schemas.json_text import json_of
from penstock.schemas.model import Difference, Format, Reference, Schema, SchemaError, missing

if TYPE_CHECKING:
    import avro.schema

NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class AvroSchema:
    """A schema with all names resolved."""

    format: Final = Format.AVRO

    def __init__(self, parsed: avro.schema.Schema) -> None:
        self.parsed = parsed

    @property
    def canonical(self) -> str:
        """Avro's Parsing Canonical Form: equal where the bytes of data are."""
        return str(self.parsed.canonical_form)

    @property
    def normal(self) -> str:
        return json.dumps(self.parsed.to_json(), indent=2, sort_keys=True, ensure_ascii=False)

    def differences(self, written: Schema) -> list[Difference]:
        from penstock.schemas.avro.reading import resolve

        assert isinstance(written, AvroSchema)
        return resolve(self.parsed, written.parsed)


def parse_avro(text: str, references: Sequence[Reference] = ()) -> AvroSchema:
    """References come before what needs them; each defines the names that the later ones use."""
    try:
        import avro.schema
        from avro.errors import AvroException
        from avro.name import Names
    except ImportError:
        raise missing("avro") from None
    names, texts = Names(), [*(each.text for each in references), text]
    documents = [_json_or_name(each) for each in texts]
    try:
        with warnings.catch_warnings():
            # A logical type that makes no sense is, as Avro wants it, none.
            warnings.simplefilter("ignore")
            parsed = [avro.schema.make_avsc_object(document, names) for document in documents]
    except (AvroException, TypeError, ValueError, AttributeError, KeyError) as failure:
        raise SchemaError(f"not an Avro schema: {_short(str(failure))}") from None
    except RecursionError:
        raise SchemaError("the schema is nested too deeply") from None
    _check_fields(documents)
    _check_defaults(documents)
    return AvroSchema(parsed[-1])


def _json_or_name(text: str) -> Any:
    """A primitive type may stand there without the quotes that JSON wants."""
    return text.strip() if NAME.fullmatch(text.strip()) else json_of(text)


def _check_fields(documents: list[Any]) -> None:
    """What Avro's library lets pass: names of fields and symbols, and aliases that are no names."""
    waiting = list(documents)
    while waiting:
        node = waiting.pop()
        if isinstance(node, list):
            waiting.extend(node)
        elif isinstance(node, dict):
            fields = node.get("fields") if node.get("type") in ("record", "error") else None
            for field in fields or ():
                _check_name(field["name"])
                _check_aliases(field)
            _check_aliases(node)
            waiting.extend(inner for key, inner in node.items() if key in ("type", "fields", "items", "values"))


def _check_name(name: Any) -> None:
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise SchemaError(f"not an Avro schema: {_short(repr(name))} is not a name of a field")


def _check_aliases(node: dict[str, Any]) -> None:
    aliases = node.get("aliases", [])
    if not isinstance(aliases, list) or not all(isinstance(alias, str) for alias in aliases):
        raise SchemaError(f"not an Avro schema: aliases of {_short(repr(node.get('name')))} are not a list of names")


def _check_defaults(documents: list[Any]) -> None:
    try:
        from fastavro.schema import SchemaParseException, UnknownType, parse_schema
    except ImportError:
        raise missing("fastavro") from None
    known: dict[str, Any] = {}
    try:
        for document in documents:
            parse_schema(document, known)
    except (SchemaParseException, UnknownType, TypeError, ValueError, KeyError, AttributeError) as failure:
        raise SchemaError(f"not an Avro schema: {_short(str(failure))}") from None


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 200 else f"{line[:200]}..."
