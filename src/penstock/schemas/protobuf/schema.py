"""A Protobuf schema: a .proto file and those it imports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NoReturn

from penstock.schemas.model import NAMES_MAX, NESTING_MAX, Difference, Format, Reference, Schema, SchemaError, missing
from penstock.schemas.protobuf.comparing import compare
from penstock.schemas.protobuf.defining import Definitions, define
from penstock.schemas.protobuf.types import File

if TYPE_CHECKING:
    from proto_schema_parser import ast

PROTOBUF_CHARS_MAX: Final = 1 << 17
"""The parser is in Python, and takes a second or two for so much."""
WELL_KNOWN: Final = "google/"
"""Files that everybody has. What they define is not looked into: it does not change."""


class ProtobufSchema:
    """A file whose types are all resolved."""

    format: Final = Format.PROTOBUF

    def __init__(self, syntax: ast.File, file: File) -> None:
        self.syntax = syntax
        self.file = file

    @property
    def normal(self) -> str:
        from proto_schema_parser.generator import Generator

        return Generator().generate(_bare(self.syntax))

    def differences(self, written: Schema) -> list[Difference]:
        assert isinstance(written, ProtobufSchema)
        return compare(self.file, written.file)


def parse_protobuf(text: str, references: Sequence[Reference] = ()) -> ProtobufSchema:
    """References are files, by the names by which they are imported; what nobody imports is not read."""
    from_name = {each.name: each.text for each in references}
    found = Definitions()
    syntax = _syntax(text)
    _import(syntax, from_name, found, ())
    own = define(syntax, found)
    return ProtobufSchema(syntax, File(own.package, found.messages, found.enums, own.names))


def _import(syntax: ast.File, texts: Mapping[str, str], found: Definitions, within: tuple[str, ...]) -> None:
    """Defines what a file imports, and what that imports; each file once."""
    from proto_schema_parser.ast import Import

    for name in [each.name for each in syntax.file_elements if isinstance(each, Import)]:
        if name in within:
            raise SchemaError(f"files import each other in a circle: {' -> '.join((*within, name))}")
        if name in found.files:
            continue
        if name in texts:
            imported = _syntax(texts[name])
            _import(imported, texts, found, (*within, name))
            define(imported, found)
        elif not name.startswith(WELL_KNOWN):
            raise SchemaError(f"{name} is imported, and no reference has that name")
        found.files.add(name)


def _syntax(text: str) -> ast.File:
    try:
        from antlr4.error.ErrorListener import ErrorListener
        from proto_schema_parser.parser import Parser
    except ImportError:
        raise missing("proto-schema-parser") from None

    class Strict(ErrorListener):  # type: ignore[misc]  # it comes without types
        def syntaxError(self, _recognizer: Any, _symbol: Any, line: int, column: int, message: str, _: Any) -> NoReturn:
            said = message.partition(" expecting {")[0]
            raise SchemaError(f"not a Protobuf schema: line {line}, column {column + 1}: {said[:200]!r}")

    def listen(recognizer: Any) -> None:
        recognizer.removeErrorListeners()
        recognizer.addErrorListener(Strict())

    _check_bounds(text)
    try:
        return Parser(setup_lexer=listen, setup_parser=listen).parse(text)
    except RecursionError:
        raise SchemaError("the schema is nested too deeply") from None
    except ValueError as failure:
        raise SchemaError(f"not a Protobuf schema: {str(failure)[:200]!r}") from None


def _bare(tree: Any) -> Any:
    """A copy of the syntax without its comments."""
    from proto_schema_parser.ast import Comment

    changed = {}
    for name, value in vars(tree).items():
        if isinstance(value, list) and name.endswith("elements"):
            changed[name] = [_bare(each) for each in value if not isinstance(each, Comment)]
    return replace(tree, **changed) if changed else tree


def _check_bounds(text: str) -> None:
    if len(text) > PROTOBUF_CHARS_MAX:
        raise SchemaError(f"the schema has {len(text)} characters, {PROTOBUF_CHARS_MAX} are allowed")
    if text.count(";") > NAMES_MAX:
        raise SchemaError(f"the schema has more than {NAMES_MAX} statements")
    depth = 0
    for character in text:
        depth += (character in "{[(") - (character in "}])")
        if depth > NESTING_MAX:
            raise SchemaError(f"the schema is nested deeper than {NESTING_MAX}")
