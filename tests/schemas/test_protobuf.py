"""Protobuf: what is a schema, and files that import others."""

import pytest

from penstock.schemas.model import NAMES_MAX, NESTING_MAX, Reference, SchemaError
from penstock.schemas.protobuf.schema import PROTOBUF_CHARS_MAX, parse_protobuf

ORDER = 'syntax = "proto3";\nimport "line.proto";\nmessage Order { shop.Line line = 1; }'
LINE = 'syntax = "proto3";\npackage shop;\nmessage Line { int32 count = 1; }\nmessage Other { int32 count = 1; }'


def found(old: str, new: str, old_line: str = LINE, new_line: str = LINE) -> list[str]:
    written = parse_protobuf(old, [Reference("line.proto", old_line)])
    differences = parse_protobuf(new, [Reference("line.proto", new_line)]).differences(written)
    return [f"{each.kind} {each.path}" for each in differences if not each.compatible]


def test_a_message_of_an_imported_file_counts_where_it_is_used() -> None:
    assert found(ORDER, ORDER) == []
    changed = LINE.replace("message Line { int32", "message Line { string")
    assert found(ORDER, ORDER, new_line=changed) == ["FIELD_SCALAR_KIND_CHANGED #/Order/1/1"]
    assert found(ORDER, ORDER, new_line=LINE.replace("message Other { int32", "message Other { string")) == []


def test_an_import_without_a_reference_is_told() -> None:
    with pytest.raises(SchemaError, match=r"line\.proto"):
        parse_protobuf(ORDER)


def test_files_that_import_each_other_are_told() -> None:
    circle = [
        Reference("line.proto", 'import "item.proto"; package shop; message Line {}'),
        Reference("item.proto", 'import "line.proto"; message Item {}'),
    ]
    with pytest.raises(SchemaError, match=r"circle: line\.proto -> item\.proto -> line\.proto"):
        parse_protobuf(ORDER, circle)


def test_a_file_that_two_others_import_is_read_once() -> None:
    files = [
        Reference("a.proto", 'import "line.proto"; message A { shop.Line line = 1; }'),
        Reference("b.proto", 'import "line.proto"; message B { shop.Line line = 1; }'),
        Reference("line.proto", LINE),
    ]
    parse_protobuf('import "a.proto"; import "b.proto"; message M { A a = 1; B b = 2; }', files)


def test_the_normal_form_has_no_comments_and_one_layout() -> None:
    one = parse_protobuf(
        'syntax = "proto3"; // why\nmessage M { /* what */ int32 a = 1; oneof o { // o\n int32 b = 2; } }'
    )
    other = parse_protobuf('syntax = "proto3";\n\nmessage M {\n  int32 a=1; oneof o {int32 b = 2;}\n}')
    assert one.normal == other.normal
    assert "what" not in one.normal
    assert parse_protobuf(one.normal).normal == one.normal


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("message {", "line 1"),
        ("message M {", "line 1"),
        ("message M { int32 a = 1 }", "line 1"),
        ("message M { int32 a = x; }", "line 1"),
        ("message M { N a = 1; }", "type N"),
        ("message M { int32 a = 1; int32 b = 1; }", "two fields"),
        ("message M { int32 a = 1; int32 a = 2; }", "two fields"),
        ("message M { int32 a = 0; }", "0 is not a number"),
        ("message M { int32 a = 19500; }", "19500 is not a number"),
        ("message M { int32 a = 536870912; }", "536870912 is not a number"),
        ("message M { reserved 2 to 4; int32 a = 3; }", "reserved"),
        ("message M { reserved 9 to max; int32 a = 3000; }", "reserved"),
        ('message M { reserved "a"; int32 a = 3; }', "reserved"),
        ('syntax = "proto3"; message M { required int32 a = 1; }', "required"),
        ("message M { map<float, int32> a = 1; }", "float"),
        ("enum E { }", "no values"),
        ("message M {} message M {}", "defined twice"),
        ("message M { google.protobuf.Timestamp a = 1; }", "Timestamp"),
        ("message M {" * (NESTING_MAX + 1) + "}" * (NESTING_MAX + 1), f"deeper than {NESTING_MAX}"),
        ("//" + "x" * PROTOBUF_CHARS_MAX, f"{PROTOBUF_CHARS_MAX} are allowed"),
        (";" * (NAMES_MAX + 1), f"more than {NAMES_MAX}"),
    ],
)
def test_what_is_no_schema_is_told_in_a_line(text: str, said: str) -> None:
    with pytest.raises(SchemaError, match=said) as told:
        parse_protobuf(text)
    assert "\n" not in str(told.value)


def test_the_deepest_nesting_is_read() -> None:
    parts = [f"message M{at} {{" for at in range(NESTING_MAX)]
    parse_protobuf(" ".join(parts) + "}" * NESTING_MAX)
