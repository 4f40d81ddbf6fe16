"""What changes for Protobuf data that is read with another schema than it was written with.

Data knows fields by their numbers and nothing of names, so names may change and types within a family; what is unknown
is kept aside. Kinds have the names under which registries document them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from penstock.schemas.model import Difference, Effort
from penstock.schemas.protobuf.types import TEXT, Field, FieldType, File, Message

PACKAGE_CHANGED: Final = "PACKAGE_CHANGED"
MESSAGE_ADDED: Final = "MESSAGE_ADDED"
MESSAGE_REMOVED: Final = "MESSAGE_REMOVED"
ENUM_ADDED: Final = "ENUM_ADDED"
ENUM_REMOVED: Final = "ENUM_REMOVED"
ENUM_CONST_ADDED: Final = "ENUM_CONST_ADDED"
ENUM_CONST_CHANGED: Final = "ENUM_CONST_CHANGED"
ENUM_CONST_REMOVED: Final = "ENUM_CONST_REMOVED"
FIELD_ADDED: Final = "FIELD_ADDED"
FIELD_REMOVED: Final = "FIELD_REMOVED"
FIELD_NAME_CHANGED: Final = "FIELD_NAME_CHANGED"
FIELD_KIND_CHANGED: Final = "FIELD_KIND_CHANGED"
FIELD_SCALAR_KIND_CHANGED: Final = "FIELD_SCALAR_KIND_CHANGED"
FIELD_NAMED_TYPE_CHANGED: Final = "FIELD_NAMED_TYPE_CHANGED"
FIELD_NUMERIC_LABEL_CHANGED: Final = "FIELD_NUMERIC_LABEL_CHANGED"
FIELD_STRING_OR_BYTES_LABEL_CHANGED: Final = "FIELD_STRING_OR_BYTES_LABEL_CHANGED"
REQUIRED_FIELD_ADDED: Final = "REQUIRED_FIELD_ADDED"
REQUIRED_FIELD_REMOVED: Final = "REQUIRED_FIELD_REMOVED"
ONEOF_ADDED: Final = "ONEOF_ADDED"
ONEOF_REMOVED: Final = "ONEOF_REMOVED"
ONEOF_FIELD_ADDED: Final = "ONEOF_FIELD_ADDED"
ONEOF_FIELD_REMOVED: Final = "ONEOF_FIELD_REMOVED"
MULTIPLE_FIELDS_MOVED_TO_ONEOF: Final = "MULTIPLE_FIELDS_MOVED_TO_ONEOF"
FIELD_MOVED_TO_EXISTING_ONEOF: Final = "FIELD_MOVED_TO_EXISTING_ONEOF"

INCOMPATIBLE: Final = {
    PACKAGE_CHANGED: "the package is another one",
    MESSAGE_REMOVED: "the reader has no such message",
    FIELD_KIND_CHANGED: "one is a scalar, a message or a map, and the other is not",
    FIELD_SCALAR_KIND_CHANGED: "the bytes of one type mean something else in the other",
    FIELD_NAMED_TYPE_CHANGED: "the message in it is another one",
    FIELD_NUMERIC_LABEL_CHANGED: "a number that is repeated is written in another way than one that is not",
    REQUIRED_FIELD_ADDED: "the reader requires what the writer may leave out",
    REQUIRED_FIELD_REMOVED: "the writer requires what the reader does not have",
    ONEOF_FIELD_REMOVED: "the reader's oneof takes for unset what the writer set",
    MULTIPLE_FIELDS_MOVED_TO_ONEOF: "of fields that could be set together one remains",
    FIELD_MOVED_TO_EXISTING_ONEOF: "of fields that could be set together one remains",
}
"""What is in the way; all else is not."""


def compare(reader: File, writer: File) -> list[Difference]:
    return list(dict.fromkeys(_Comparison(reader, writer).all()))


class _Comparison:
    """One comparison; messages that fields refer to in other files are compared once, where they are first met."""

    def __init__(self, reader: File, writer: File) -> None:
        self._reader, self._writer = reader, writer
        self._met: set[tuple[str, str]] = set()
        self._effort = Effort()

    def all(self) -> Iterator[Difference]:
        if self._reader.package != self._writer.package:
            yield _difference(PACKAGE_CHANGED, "#/")
        ours, theirs = _by_local_name(self._reader), _by_local_name(self._writer)
        for local in sorted(ours.keys() | theirs.keys()):
            yield from self._types(f"#/{local.replace('.', '/')}", ours.get(local), theirs.get(local))

    def _types(self, path: str, ours: str | None, theirs: str | None) -> Iterator[Difference]:
        """A message and an enum of the same name have nothing to do with each other."""
        messages = self._reader.messages.get(ours or ""), self._writer.messages.get(theirs or "")
        enums = self._reader.enums.get(ours or ""), self._writer.enums.get(theirs or "")
        if messages[0] is not None and messages[1] is not None and ours and theirs:
            self._met.add((ours, theirs))
            yield from self._message(path, messages[0], messages[1])
        elif messages != (None, None):
            yield _difference(MESSAGE_REMOVED if messages[0] is None else MESSAGE_ADDED, path)
        if enums[0] is not None and enums[1] is not None:
            yield from _enum(path, enums[0], enums[1])
        elif enums != (None, None):
            yield _difference(ENUM_REMOVED if enums[0] is None else ENUM_ADDED, path)

    def _message(self, path: str, ours: Message, theirs: Message) -> Iterator[Difference]:
        yield from _oneofs(path, ours, theirs)
        for number in sorted(ours.fields.keys() | theirs.fields.keys()):
            self._effort.spend()
            mine, written = ours.fields.get(number), theirs.fields.get(number)
            if mine is None and written is not None:
                yield _removed(path, written, ours, theirs)
            elif written is None and mine is not None:
                yield _added(path, mine)
            elif mine is not None and written is not None:
                yield from self._field(_place(path, mine), mine, written)

    def _field(self, path: str, ours: Field, theirs: Field) -> Iterator[Difference]:
        if ours.name != theirs.name:
            yield _difference(FIELD_NAME_CHANGED, path)
        if ours.label == "required" != theirs.label:
            yield _difference(REQUIRED_FIELD_ADDED, path)
        yield from self._type(path, ours.type, theirs.type)
        if ("repeated" in (ours.label, theirs.label)) and ours.label != theirs.label:
            family = ours.type.family
            if family is not None and family == theirs.type.family:
                kind = FIELD_STRING_OR_BYTES_LABEL_CHANGED if family == TEXT else FIELD_NUMERIC_LABEL_CHANGED
                yield _difference(kind, path)

    def _type(self, path: str, ours: FieldType, theirs: FieldType) -> Iterator[Difference]:
        if (ours.family is None) != (theirs.family is None) or (ours.kind == "map") != (theirs.kind == "map"):
            yield _difference(FIELD_KIND_CHANGED, path)
        elif ours.family is not None:
            if ours.family != theirs.family:
                yield _difference(FIELD_SCALAR_KIND_CHANGED, path)
        elif ours.key and ours.value and theirs.key and theirs.value:
            yield from self._type(path, ours.key, theirs.key)
            yield from self._type(path, ours.value, theirs.value)
        elif self._reader.local(ours.name) != self._writer.local(theirs.name):
            yield _difference(FIELD_NAMED_TYPE_CHANGED, path)
        else:
            yield from self._elsewhere(path, ours.name, theirs.name)

    def _elsewhere(self, path: str, ours: str, theirs: str) -> Iterator[Difference]:
        """Messages that one of the files imports; those that both define are compared in their own place."""
        if (ours, theirs) in self._met or (ours in self._reader.own and theirs in self._writer.own):
            return
        self._met.add((ours, theirs))
        messages = self._reader.messages.get(ours), self._writer.messages.get(theirs)
        if messages[0] is not None and messages[1] is not None:
            yield from self._message(path, messages[0], messages[1])


def _by_local_name(file: File) -> dict[str, str]:
    return {file.local(name): name for name in file.own}


def _oneofs(path: str, ours: Message, theirs: Message) -> Iterator[Difference]:
    mine, written = ours.oneofs(), theirs.oneofs()
    for name, fields in mine.items():
        before = [theirs.fields[each.number] for each in fields if each.number in theirs.fields]
        alone = [each for each in before if each.oneof is None]
        if len({each.oneof for each in before if each.oneof is not None}) + len(alone) > 1:
            kind = MULTIPLE_FIELDS_MOVED_TO_ONEOF if len(alone) > 1 else FIELD_MOVED_TO_EXISTING_ONEOF
            yield _difference(kind, f"{path}/{name}")
        if name not in written:
            yield _difference(ONEOF_ADDED, f"{path}/{name}")
    for name in written.keys() - mine.keys():
        yield _difference(ONEOF_REMOVED, f"{path}/{name}")


def _removed(path: str, field: Field, ours: Message, theirs: Message) -> Difference:
    if field.oneof is None:
        return _difference(REQUIRED_FIELD_REMOVED if field.label == "required" else FIELD_REMOVED, _place(path, field))
    # Who drops all of a oneof wants none of it; who drops one of its fields changes what the others mean.
    remains = any(each.number in ours.fields for each in theirs.oneofs()[field.oneof])
    return _difference(ONEOF_FIELD_REMOVED if remains else FIELD_REMOVED, _place(path, field))


def _added(path: str, field: Field) -> Difference:
    if field.oneof is not None:
        return _difference(ONEOF_FIELD_ADDED, _place(path, field))
    return _difference(REQUIRED_FIELD_ADDED if field.label == "required" else FIELD_ADDED, _place(path, field))


def _place(path: str, field: Field) -> str:
    return f"{path}/{field.number}" if field.oneof is None else f"{path}/{field.oneof}/{field.number}"


def _enum(path: str, ours: dict[int, str], theirs: dict[int, str]) -> Iterator[Difference]:
    for number in sorted(ours.keys() | theirs.keys()):
        if number not in ours:
            yield _difference(ENUM_CONST_REMOVED, f"{path}/{number}")
        elif number not in theirs:
            yield _difference(ENUM_CONST_ADDED, f"{path}/{number}")
        elif ours[number] != theirs[number]:
            yield _difference(ENUM_CONST_CHANGED, f"{path}/{number}")


def _difference(kind: str, path: str) -> Difference:
    return Difference(kind, path, INCOMPATIBLE.get(kind, "data is read as before"), kind not in INCOMPATIBLE)
