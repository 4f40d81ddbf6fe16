"""YAML in and out: every scalar stays a text, so `no` is not false here and `012` is not ten, and has its place.

PyYAML reads. What it would make of one part somewhere else in the file, aliases, is refused, and so are tags: a file
that says who may do what shall say it where it stands.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import yaml

from penstock.client.declared.marked import Entries, FileError, Items, Mark, Node, Scalar, Value

_WIDTH: Final = 100
_STR_TAG: Final = "tag:yaml.org,2002:str"


def read_yaml(text: str) -> Node:
    """The one document of a text; raises FileError where it is none."""
    try:
        found = yaml.compose(text, _Loader)
    except yaml.MarkedYAMLError as wrong:
        where = _mark(wrong.problem_mark or wrong.context_mark)
        raise FileError(where, wrong.problem or "this is no YAML", wrong.context) from None
    except yaml.reader.ReaderError as wrong:
        raise FileError(_place(text, wrong.position), f"YAML has no character {ord(text[wrong.position]):#x}") from None
    except RecursionError:
        raise FileError(Mark(1, 1), "there are too many levels, one in another") from None
    return Scalar("", Mark(1, 1)) if found is None else _node(found)


class _Loader(yaml.BaseLoader):
    """Refuses what would have to be looked up elsewhere."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        event = self.peek_event()  # type: ignore[no-untyped-call]  # Its types leave this one out.
        if isinstance(event, yaml.AliasEvent):
            raise FileError(_mark(event.start_mark), "aliases are not read here", "write it out, or put * in quotes")
        if getattr(event, "tag", None) is not None:
            raise FileError(_mark(event.start_mark), "tags are not read here", "leave it out, or put ! in quotes")
        return super().compose_node(parent, index)


def _place(text: str, position: int) -> Mark:
    before = text[:position]
    return Mark(before.count("\n") + 1, position - before.rfind("\n"))


def _mark(mark: Any) -> Mark:
    return Mark(1, 1) if mark is None else Mark(mark.line + 1, mark.column + 1)


def _node(node: Any) -> Node:
    mark = _mark(node.start_mark)
    if isinstance(node, yaml.ScalarNode):
        return Scalar(node.value, mark, node.style is None)
    if isinstance(node, yaml.SequenceNode):
        return Items(tuple(map(_node, node.value)), mark)
    entries: dict[str, tuple[Scalar, Node]] = {}
    for key, value in node.value:
        name = _node(key)
        if not isinstance(name, Scalar):
            raise FileError(name.mark, "a name is expected before the colon")
        if name.text in entries:
            first = entries[name.text][0].mark.line
            raise FileError(name.mark, f"{name.text} is there already, in line {first}", "leave one of them out")
        entries[name.text] = name, _node(value)
    return Entries(tuple(entries.values()), mark)


def write_yaml(value: Mapping[str, Value]) -> str:
    return yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=_WIDTH) if value else ""


class _Dumper(yaml.SafeDumper):
    """Lists are indented as people do, and texts of several lines are blocks."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    lines = text.split("\n")
    style = '"' if not all(map(str.isprintable, lines)) else "|" if len(lines) > 1 else None
    return dumper.represent_scalar(_STR_TAG, text, style=style)


_Dumper.add_representer(str, _text)
