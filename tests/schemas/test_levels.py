"""Which schemas a level holds a new one against."""

import pytest

from penstock.schemas.levels import Level, incompatibilities
from penstock.schemas.model import REFERENCES_MAX, Format, Reference, SchemaError
from penstock.schemas.parsing import format_of, parse

INT, LONG, DOUBLE, TEXT = (parse(Format.AVRO, f'"{name}"') for name in ("int", "long", "double", "string"))


@pytest.mark.parametrize(
    ("level", "expected"),
    [
        (Level.NONE, []),
        (Level.BACKWARD, []),
        (Level.BACKWARD_TRANSITIVE, [(0, "backward")]),
        (Level.FORWARD, [(2, "forward")]),
        (Level.FORWARD_TRANSITIVE, [(2, "forward"), (1, "forward"), (0, "forward")]),
        (Level.FULL, [(2, "forward")]),
        (Level.FULL_TRANSITIVE, [(2, "forward"), (1, "forward"), (0, "backward"), (0, "forward")]),
    ],
)
def test_the_latest_first_and_alone_unless_transitive(level: Level, expected: list[tuple[int, str]]) -> None:
    found = incompatibilities(level, DOUBLE, [TEXT, INT, LONG])
    assert [(each.earlier, each.direction) for each in found] == expected


def test_nothing_is_in_the_way_of_a_first_schema() -> None:
    assert incompatibilities(Level.FULL_TRANSITIVE, INT, []) == []


def test_references_are_bounded_and_have_names_of_their_own() -> None:
    twice = [Reference("x", '"int"')] * 2
    with pytest.raises(SchemaError, match="same name"):
        parse(Format.AVRO, '"int"', twice)
    many = [Reference(str(at), '"int"') for at in range(REFERENCES_MAX + 1)]
    with pytest.raises(SchemaError, match=f"{REFERENCES_MAX} are allowed"):
        parse(Format.AVRO, '"int"', many)


def test_a_files_name_tells_its_format() -> None:
    assert [format_of(name) for name in ("a.avsc", "b.JSON", "c.proto", "d.txt")] == ["avro", "json", "protobuf", None]
