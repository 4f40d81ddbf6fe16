"""A JSON schema: checked against its draft, its references resolved, its regular expressions compiled."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final

from penstock.schemas.jsonschema.documents import KNOWN, Documents, schemas_in
from penstock.schemas.model import Difference, Format, Reference, Schema, SchemaError, missing

PATTERN_CHARS_MAX: Final = 4_000
PATTERN_BYTES_MAX: Final = 1 << 20
"""Of a regular expression that is compiled."""
BACKTRACKS_MAX: Final = 100_000
DEFAULT_DRAFT: Final = "http://json-schema.org/draft-07/schema#"


class JsonSchema:
    """A document with all that it refers to."""

    format: Final = Format.JSON

    def __init__(self, documents: Documents) -> None:
        self.documents = documents

    @property
    def normal(self) -> str:
        return json.dumps(self.documents.main.root, indent=2, sort_keys=True, ensure_ascii=False)

    def differences(self, written: Schema) -> list[Difference]:
        from penstock.schemas.jsonschema.comparing import compare

        assert isinstance(written, JsonSchema)
        return compare(self.documents, written.documents)


def parse_json(text: str, references: Sequence[Reference] = ()) -> JsonSchema:
    documents = Documents(text, references)
    root = documents.main.root
    if not isinstance(root, dict | bool):
        raise SchemaError("not a JSON schema: it is neither an object nor true or false")
    _check_draft(root)
    for node in schemas_in(root):
        if "$ref" in node and isinstance(node["$ref"], str):
            documents.resolve(node)
        for pattern in _patterns(node):
            matcher(pattern)
    return JsonSchema(documents)


def _check_draft(root: Any) -> None:
    try:
        import jsonschema_rs
    except ImportError:
        raise missing("jsonschema-rs") from None
    draft = root.get("$schema") if isinstance(root, dict) else None
    if isinstance(root, dict) and not (isinstance(draft, str) and draft.startswith(KNOWN)):
        # The library would look for an unknown one in the network; one that is not said is the one before last.
        root = root | {"$schema": DEFAULT_DRAFT}
    try:
        jsonschema_rs.meta.validate(root)
    except jsonschema_rs.ReferencingError:
        raise SchemaError(f"not a JSON schema: nobody knows the draft {str(draft)[:200]!r}") from None
    except jsonschema_rs.ValidationError as failure:
        place = "/".join(map(str, failure.instance_path))
        raise SchemaError(f"not a JSON schema: {failure.message[:200]} (at #/{place})") from None


def _patterns(node: dict[str, Any]) -> list[str]:
    found = [node["pattern"]] if isinstance(node.get("pattern"), str) else []
    named = node.get("patternProperties")
    return found + (list(named) if isinstance(named, dict) else [])


@lru_cache(maxsize=1_000)
def matcher(pattern: str) -> Any:
    """Something whose `is_valid(text)` says whether a pattern is found, in linear time where the pattern allows it."""
    import jsonschema_rs

    if len(pattern) > PATTERN_CHARS_MAX:
        raise SchemaError(f"a regular expression has {len(pattern)} characters, {PATTERN_CHARS_MAX} are allowed")
    options = (
        jsonschema_rs.RegexOptions(size_limit=PATTERN_BYTES_MAX),
        jsonschema_rs.FancyRegexOptions(backtrack_limit=BACKTRACKS_MAX, size_limit=PATTERN_BYTES_MAX),
    )
    for each in options:
        try:
            return jsonschema_rs.Draft7Validator({"pattern": pattern}, pattern_options=each)
        except (jsonschema_rs.ValidationError, ValueError):
            continue
    raise SchemaError(f"not a JSON schema: {pattern[:100]!r} is no regular expression, or is too large a one")
