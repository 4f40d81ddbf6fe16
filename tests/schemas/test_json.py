"""JSON Schema: what is one, where references lead, and that what is found compatible is so for data."""

import json
import time
from contextlib import suppress
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.schemas.levels import BACKWARD, obstacles
from penstock.schemas.model import Format, Reference, SchemaError
from penstock.schemas.parsing import parse
from tests.examples import examples

SMALL = st.integers(0, 3)
DATA: Any = st.recursive(
    st.one_of(st.none(), st.integers(-4, 4), st.sampled_from(["", "a", "ab", "abc"])),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.sampled_from("abc"), inner, max_size=3)),
    max_leaves=4,
)
LEAVES: Any = st.one_of(
    st.sampled_from([{}, True, {"type": "null"}, {"type": ["string", "null"]}, {"enum": ["a", 1]}, {"const": "ab"}]),
    st.builds(lambda least, most: {"type": "string", "minLength": least, "maxLength": least + most}, SMALL, SMALL),
    st.builds(lambda least: {"type": "integer", "minimum": least - 2}, SMALL),
    st.builds(lambda times: {"type": "number", "multipleOf": times + 1}, SMALL),
)


def _objects(inner: Any) -> Any:
    return st.builds(
        lambda named, required, rest: {
            "type": "object",
            "properties": named,
            "required": sorted(required),
            "additionalProperties": rest,
        },
        st.dictionaries(st.sampled_from("abc"), inner, max_size=2),
        st.sets(st.sampled_from("abc"), max_size=1),
        st.one_of(st.booleans(), inner),
    )


SCHEMAS: Any = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        _objects(inner),
        st.builds(lambda items, most: {"type": "array", "items": items, "maxItems": most}, inner, SMALL),
        st.builds(lambda branches: {"anyOf": branches}, st.lists(inner, min_size=1, max_size=2)),
        st.builds(lambda branches: {"allOf": branches}, st.lists(inner, min_size=1, max_size=2)),
        st.builds(lambda ruled_out: {"not": ruled_out}, inner),
    ),
    max_leaves=4,
)


def _text(schema: Any) -> str:
    return json.dumps(schema)


@examples(300)
@given(SCHEMAS, SCHEMAS, st.lists(DATA, min_size=5, max_size=10))
def test_what_is_found_compatible_accepts_what_was_written(old: Any, new: Any, data: list[Any]) -> None:
    before, after = (parse(Format.JSON, _text(each)) for each in (old, new))
    if obstacles(BACKWARD, after, before):
        return
    writer, reader = (jsonschema_rs.Draft7Validator(each) for each in (old, new))
    for value in data:
        assert reader.is_valid(value) or not writer.is_valid(value), value


@examples(100)
@given(SCHEMAS)
def test_a_schema_may_follow_itself(schema: Any) -> None:
    parsed = parse(Format.JSON, _text(schema))
    assert obstacles(BACKWARD, parsed, parse(Format.JSON, _text(schema))) == []


def test_references_to_other_documents() -> None:
    part = Reference("part.json", '{"$id": "http://x.y/part.json", "definitions": {"t": {"type": "string"}}}')
    for target in ("part.json#/definitions/t", "http://x.y/part.json#/definitions/t"):
        text = f'{{"$id": "http://x.y/whole.json", "properties": {{"a": {{"$ref": "{target}"}}}}}}'
        old = parse(Format.JSON, '{"properties": {"a": {"type": "integer"}}}')
        (found,) = obstacles(BACKWARD, parse(Format.JSON, text, [part]), old)
        assert (found.kind, found.path) == ("TYPE_CHANGED", "#/properties/a")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("5", "neither an object nor true or false"),
        ("{", "not JSON"),
        ('{"type": "nothing"}', "not a JSON schema"),
        ('{"$ref": "#/nowhere"}', "is not there"),
        ('{"$ref": "other.json"}', "is not there"),
        ('{"pattern": "("}', "regex"),
        ('{"pattern": "((a{1000}){1000}){1000}"}', "regular expression"),
        ('{"$schema": "http://127.0.0.1:1/x", "type": 7}', "not a JSON schema"),
        ("[" * 5000 + "]" * 5000, "nested"),
        ('{"not":' * 200 + "{}" + "}" * 200, "nested"),
    ],
)
def test_what_is_no_schema(text: str, said: str) -> None:
    with pytest.raises(SchemaError, match=said):
        parse(Format.JSON, text)


def test_a_ring_of_references_ends() -> None:
    ring = _text(
        {"$ref": "#/definitions/a", "definitions": {"a": {"$ref": "#/definitions/b"}, "b": {"$ref": "#/definitions/a"}}}
    )
    schema = parse(Format.JSON, ring)
    assert obstacles(BACKWARD, schema, parse(Format.JSON, ring)) == []


@pytest.mark.slow
def test_branches_of_branches_end_in_time() -> None:
    """Each with each, level by level, would be more than anybody waits for."""
    texts = []
    for leaf in ("string", "integer"):
        schema: Any = {"type": leaf}
        for level in range(6):
            schema = {"oneOf": [{"type": "object", "properties": {f"{at}": schema}} for at in range(level % 4 + 2)]}
            schema = {"$ref": "#/definitions/x", "definitions": {"x": schema}} if level == 0 else schema
        texts.append(_text({"definitions": {"x": {"type": leaf}}, **schema}))
    begin = time.monotonic()
    with suppress(SchemaError):
        obstacles(BACKWARD, parse(Format.JSON, texts[1]), parse(Format.JSON, texts[0]))
    assert time.monotonic() - begin < 60


def test_an_expression_that_explodes_is_given_up() -> None:
    patterned = '{"type": "object", "patternProperties": {"(x+x+)+y": {}}, "additionalProperties": false}'
    name = "x" * 200
    named = f'{{"type": "object", "properties": {{"{name}": {{}}}}, "additionalProperties": false}}'
    begin = time.monotonic()
    obstacles(BACKWARD, parse(Format.JSON, patterned), parse(Format.JSON, named))
    assert time.monotonic() - begin < 10
