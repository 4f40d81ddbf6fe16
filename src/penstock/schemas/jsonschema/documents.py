"""JSON Schema documents, and where a `$ref` in one leads. Nothing is ever fetched: what is not given is not there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from penstock.schemas.json_text import json_of
from penstock.schemas.model import Reference, SchemaError

KNOWN: Final = ("http://json-schema.org/", "https://json-schema.org/")
"""Addresses of the drafts' own schemas, which accept any schema."""
_DATA: Final = frozenset({"default", "enum", "const", "examples"})
"""Members that hold data and no schemas."""
_SIBLINGS_FROM: Final = ("2019-09", "2020-12")


class Document:
    """One document: its schemas by their addresses within it."""

    def __init__(self, root: Any) -> None:
        self.root = root
        self.id = _id(root) or ""
        self.named: dict[str, Any] = {}
        for node in schemas_in(root):
            if (id := _id(node)) and node is not root:
                self.named.setdefault(id.removeprefix("#"), node)
            for anchor in ("$anchor", "$dynamicAnchor"):
                if isinstance(name := node.get(anchor), str):
                    self.named.setdefault(name, node)

    @property
    def siblings_count(self) -> bool:
        """Whether what stands beside a `$ref` counts, as in the newer drafts."""
        draft = self.root.get("$schema") if isinstance(self.root, dict) else None
        return isinstance(draft, str) and any(each in draft for each in _SIBLINGS_FROM)

    def at(self, fragment: str) -> Any:
        """None where nothing is."""
        if not fragment.startswith("/"):
            return self.root if not fragment else self.named.get(fragment)
        node = self.root
        for part in fragment[1:].split("/"):
            name = part.replace("%25", "%").replace("~1", "/").replace("~0", "~")
            if isinstance(node, dict):
                node = node.get(name)
            elif isinstance(node, list) and name.isdecimal() and int(name) < len(node):
                node = node[int(name)]
            else:
                return None
        return node


class Documents:
    """A document and those that it may refer to, by their names."""

    def __init__(self, text: str, references: Sequence[Reference]) -> None:
        self.main = Document(json_of(text))
        self._others = {each.name: Document(json_of(each.text)) for each in references}
        self._others |= {each.id: each for each in self._others.values() if each.id and each.id not in self._others}
        self._home: dict[int, Document] = {}
        for document in (self.main, *self._others.values()):
            for node in schemas_in(document.root):
                self._home.setdefault(id(node), document)

    def home(self, node: Any) -> Document:
        return self._home.get(id(node), self.main)

    def resolve(self, node: dict[str, Any]) -> Any:
        """What a `$ref` means; True, which accepts all, for the drafts' own schemas."""
        target = node["$ref"]
        if not isinstance(target, str):
            raise SchemaError("not a JSON schema: a $ref is not a text")
        address, _, fragment = target.partition("#")
        home = self.home(node)
        if not address or address == home.id:
            found = home.at(fragment)
        elif address.startswith(KNOWN):
            return True
        elif address in home.named:
            found = home.named[address]
        else:
            document = self._named(address, home)
            found = None if document is None else document.at(fragment)
        if not isinstance(found, dict | bool):
            raise SchemaError(f"not a JSON schema: {target[:200]!r} is referred to, and is not there")
        return found

    def _named(self, address: str, home: Document) -> Document | None:
        folder = home.id.rpartition("/")[0]
        for name in (address, f"{folder}/{address}", address.removeprefix("./"), address.rpartition("/")[2]):
            if name in self._others:
                return self._others[name]
            if name == self.main.id:
                return self.main
        return None


def schemas_in(root: Any) -> Iterator[dict[str, Any]]:
    """The objects of a document that may be schemas, its root first."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            yield node
            waiting.extend(value for name, value in node.items() if name not in _DATA)
        elif isinstance(node, list):
            waiting.extend(node)


def _id(node: Any) -> str | None:
    found = (node.get("$id") or node.get("id")) if isinstance(node, dict) else None
    return found.removesuffix("#") if isinstance(found, str) else None
