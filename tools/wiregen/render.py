"""Writes definitions as declarations in the language of `penstock.core.wire.schema`."""

import keyword
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from tools.wiregen.definitions import Definition, Versions

SPECIFIERS = {
    "bool": ("boolean", "bool"),
    "int8": ("int8", "int"),
    "int16": ("int16", "int"),
    "uint16": ("uint16", "int"),
    "int32": ("int32", "int"),
    "uint32": ("uint32", "int"),
    "int64": ("int64", "int"),
    "float64": ("float64", "float"),
    "uuid": ("uuid", "bytes"),
    "string": ("string", "str"),
    "bytes": ("blob", "bytes"),
    "records": ("record_set", "Records"),
}
"""Kafka's type, the specifier for it, and the type of its values in Python."""

INTEGERS = {"int8", "int16", "uint16", "int32", "uint32", "int64"}
RESERVED = {"array", "struct"} | {specifier for specifier, _ in SPECIFIERS.values()}


def snake_case(name: str) -> str:
    """`TopicId` as `topic_id`, `ISRNodes` as `isr_nodes`."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name)
    snake = words.lower()
    assert snake not in RESERVED, f"{name} hides a specifier"
    assert not keyword.iskeyword(snake), f"{name} is a keyword"
    return snake


@dataclass
class Module:
    """One generated module: its docstring, and the messages it declares."""

    name: str
    docstring: str
    definitions: list[Definition]
    imports: set[str] = field(default_factory=set)

    def render(self) -> str:
        shared = self._names_used_twice()
        classes: list[str] = []
        for definition in self.definitions:
            classes += _MessageRenderer(definition, shared, self.imports).render()
        imports = ", ".join(sorted(self.imports))
        header = f'"""{self.docstring}"""\n\nfrom penstock.core.wire.schema import {imports}\n'
        return "\n\n".join([header, *classes]) + "\n"

    def _names_used_twice(self) -> set[str]:
        names = Counter(name for definition in self.definitions for name in struct_names(definition))
        names.update(definition.name for definition in self.definitions)
        return {name for name, count in names.items() if count > 1}


def struct_names(definition: Definition) -> set[str]:
    """The names of all structs a message declares."""
    names = set(definition.common)
    pending = [definition.fields, *definition.common.values()]
    while pending:
        for raw in pending.pop():
            if raw.get("fields"):
                names.add(raw["type"].removeprefix("[]"))
                pending.append(raw["fields"])
    return names


class _MessageRenderer:
    """Renders one message: inner structs first, the message last."""

    def __init__(self, definition: Definition, shared: set[str], imports: set[str]) -> None:
        self.definition = definition
        self.shared = shared
        self.imports = imports
        self.done: set[str] = set()
        self.classes: list[str] = []

    def render(self) -> list[str]:
        definition = self.definition
        base, facts = self._base()
        self.imports.add(base)
        versions = definition.versions
        whole = str(versions.first) if versions.first == versions.last else f"{versions.first}-{versions.last}"
        facts.append(f'versions="{whole}"')
        if definition.flexible:
            facts.append(f'flexible="{definition.flexible.first}+"')
        header = f"class {definition.name}({base}, {', '.join(facts)}):"
        self._class(header, definition.fields, versions)
        return self.classes

    def _base(self) -> tuple[str, list[str]]:
        match self.definition.type:
            case "request":
                return "Request", [f"key={self.definition.api_key}"]
            case "response":
                return "Response", [f"key={self.definition.api_key}"]
        key = self.definition.api_key
        return "StoredRecord", [] if key is None else [f"type={key}"]

    def _class(self, header: str, fields: list[dict[str, Any]], valid: Versions) -> None:
        lines = [line for raw in fields if (line := self._field(raw, valid))]
        self.classes.append("\n".join([header, *(f"    {line}" for line in lines or ["__slots__ = ()"])]) + "\n")

    def _struct(self, name: str, fields: list[dict[str, Any]], valid: Versions) -> str:
        python_name = self._struct_name(name)
        if name not in self.done:
            self.done.add(name)
            self.imports.add("Struct")
            self._class(f"class {python_name}(Struct):", fields, valid)
        return python_name

    def _struct_name(self, name: str) -> str:
        if name not in self.shared:
            return name
        match self.definition.type:
            case "request":
                return f"Request{name}"
            case "response":
                return f"Response{name}"
        return f"{self.definition.name}{name}"

    def _field(self, raw: dict[str, Any], valid: Versions) -> str | None:
        exists = Versions.parse(raw.get("versions", raw.get("taggedVersions"))) & valid
        if not exists:
            return None
        specifier, arguments, value_type = self._kind(raw, exists)
        nullable = Versions.parse(raw.get("nullableVersions")) & exists
        tagged = Versions.parse(raw.get("taggedVersions")) & exists
        options = list(arguments)
        if exists != valid:
            options.append(f'versions="{exists.text(valid)}"')
        if nullable:
            options.append(f'nullable="{nullable.text(exists)}"')
        default = self._default(raw)
        if default is not None:
            options.append(f"default={default}")
        if tagged:
            options.append(f"tag={raw['tag']}")
            if tagged != exists:
                options.append(f'tagged="{tagged.text(exists)}"')
        if str(raw.get("ignorable", False)).lower() == "true" and exists != valid:
            options.append("ignorable=True")
        optional = bool(nullable) or default == "None" or raw["type"] == "records" or (specifier == "struct" and tagged)
        annotation = f"{value_type} | None" if optional else value_type
        return f"{snake_case(raw['name'])}: {annotation} = {specifier}({', '.join(options)})"

    def _kind(self, raw: dict[str, Any], exists: Versions) -> tuple[str, list[str], str]:
        """The specifier, its first argument if any, and the type of its values."""
        type_name: str = raw["type"]
        element = type_name.removeprefix("[]")
        if element in SPECIFIERS:
            specifier, value_type = SPECIFIERS[element]
            self.imports.update({specifier, "Records"} if element == "records" else {specifier})
            if element == type_name:
                return specifier, [], value_type
            self.imports.add("array")
            return "array", [specifier], f"list[{value_type}]"
        if element in self.definition.common:
            name = self._struct(element, self.definition.common[element], self.definition.versions)
        else:
            name = self._struct(element, raw["fields"], exists)
        if element == type_name:
            self.imports.add("struct")
            return "struct", [name], name
        self.imports.add("array")
        return "array", [name], f"list[{name}]"

    def _default(self, raw: dict[str, Any]) -> str | None:
        """The default in Python where it is not the empty value of the type."""
        value = raw.get("default")
        # Kafka's generator takes only the word "null" for null; a null of JSON is no default at all.
        if value is None:
            return None
        if value == "null":
            return "None"
        if raw["type"] == "bool":
            return "True" if str(value).lower() == "true" else None
        if raw["type"] in INTEGERS:
            number = int(str(value), 0)
            return str(number) if number else None
        assert value == "", f"default {value!r} of {raw['name']}"
        return None
