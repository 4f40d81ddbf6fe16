"""JSON documents, by jsonschema-rs. What a schema refers to is among its references: nothing is fetched."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

from penstock.core.records.schema_ids import Check, Misfit
from penstock.schemas.json_text import json_of
from penstock.schemas.model import Reference, SchemaError, missing
from penstock.schemas.payloads.unfit import NESTING_MAX, short

REGEX_BYTES_MAX: Final = 1 << 20
BACKTRACKS_MAX: Final = 100_000


def json_check(text: str, references: Sequence[Reference]) -> Check:
    validator = _validator(json_of(text), {each.name: json_of(each.text) for each in references})

    def check(payload: bytes) -> Misfit | None:
        try:
            document = json.loads(payload)
        except (ValueError, RecursionError) as failure:
            return Misfit("", short(f"is no JSON: {failure}"))
        if _depth(document) > NESTING_MAX:
            return Misfit("", f"is nested deeper than {NESTING_MAX}")
        if validator.is_valid(document):
            return None
        first = next(iter(validator.iter_errors(document)))
        return Misfit(short(".".join(map(str, first.instance_path))), short(first.message))

    return check


def _validator(schema: Any, references: dict[str, Any]) -> Any:
    try:
        import jsonschema_rs
    except ImportError:
        raise missing("jsonschema-rs") from None

    def found(uri: str) -> Any:
        """Names are addresses, or what follows the base of the schema that names them."""
        for name, document in references.items():
            if uri == name or uri.endswith(f"/{name}"):
                return document
        raise ValueError("no reference has that name")

    linear = jsonschema_rs.RegexOptions(size_limit=REGEX_BYTES_MAX)
    bounded = jsonschema_rs.FancyRegexOptions(backtrack_limit=BACKTRACKS_MAX, size_limit=REGEX_BYTES_MAX)
    try:
        try:
            return jsonschema_rs.validator_for(schema, retriever=found, pattern_options=linear)
        except jsonschema_rs.ValidationError:
            # Expressions that look around are none for which time grows only with the text.
            return jsonschema_rs.validator_for(schema, retriever=found, pattern_options=bounded)
    except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError) as failure:
        raise SchemaError(f"not a JSON schema: {short(str(failure).splitlines()[0])}") from None


def _depth(document: Any) -> int:
    level, depth = [document], 0
    while level and depth <= NESTING_MAX:
        level = [inner for each in level for inner in _inside(each)]
        depth += 1
    return depth


def _inside(value: Any) -> list[Any]:
    """What can hold something itself."""
    held = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [each for each in held if isinstance(each, dict | list)]
