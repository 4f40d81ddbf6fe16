"""What a part of the file must look like: its keys, numbers and words. What is wrong is pointed at."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from difflib import get_close_matches

from penstock.client.declared.marked import Entries, FileError, Items, Mark, Node, Scalar
from penstock.client.quotas import parse_bytes

_TRUTH = {"true": True, "false": False}


def entries(node: Node, what: str) -> Iterator[tuple[Scalar, Node]]:
    """Keys and values; nothing at all is none of them."""
    if isinstance(node, Scalar) and node.is_null:
        return
    if not isinstance(node, Entries):
        raise FileError(node.mark, f"{what}: `key: value` is expected here", "a line for each, indented alike")
    yield from node.entries


def items(node: Node, what: str) -> Iterator[Node]:
    if isinstance(node, Scalar) and node.is_null:
        return
    if not isinstance(node, Items):
        raise FileError(node.mark, f"{what}: a list is expected here", "a line for each that begins with `- `")
    yield from node.items


def text(node: Node, what: str) -> str:
    if not isinstance(node, Scalar):
        raise FileError(node.mark, f"{what}: one value is expected here, not several")
    if node.is_null or not node.text:
        raise FileError(node.mark, f"{what}: a value is missing", "write it behind the colon")
    return node.text


def word(node: Node, what: str, known: Collection[str]) -> str:
    found = text(node, what)
    if found not in known:
        raise FileError(node.mark, f"{what}: {found!r} is not known", _expected(found, known))
    return found


def number(node: Node, what: str, least: int, most: int) -> int:
    found = text(node, what)
    if not found.isascii() or not found.isdecimal() or not least <= int(found) <= most:
        raise FileError(node.mark, f"{what}: a number from {least} to {most} is expected, not {found!r}")
    return int(found)


def amount(node: Node, what: str, *, is_bytes: bool) -> float:
    """A number above 0, and of bytes also as `10M`."""
    found = text(node, what)
    value = parse_bytes(found) if is_bytes else _float(found)
    if value is None or not 0 < value < float("inf"):
        hint = "bytes per second, such as 500k or 10M" if is_bytes else None
        raise FileError(node.mark, f"{what}: a number above 0 is expected, not {found!r}", hint)
    return float(value)


def truth(node: Node, what: str) -> bool:
    return _TRUTH[word(node, what, _TRUTH)]


def words(node: Node, what: str, known: Collection[str]) -> tuple[str, ...]:
    """One of them, or a list of some."""
    nodes: Sequence[Node] = [node] if isinstance(node, Scalar) else list(items(node, what))
    if not nodes:
        raise FileError(node.mark, f"{what}: at least one is expected", f"there are {', '.join(known)}")
    return tuple(dict.fromkeys(word(each, what, known) for each in nodes))


def settings(node: Node, what: str) -> dict[str, Scalar]:
    """Names and values; a list is what brokers separate by commas."""
    return {key.text: _setting(inner, f"{what} {key.text}") for key, inner in entries(node, what)}


def _setting(node: Node, what: str) -> Scalar:
    if isinstance(node, Items):
        return Scalar(",".join(text(each, what) for each in node.items), node.mark)
    if isinstance(node, Scalar) and not node.is_plain:
        return node
    return Scalar(text(node, what), node.mark)


class Fields:
    """A mapping with keys that are known."""

    def __init__(self, node: Node, what: str, known: Sequence[str]) -> None:
        self.mark: Mark = node.mark
        self._what = what
        self._values: dict[str, Node] = {}
        for key, value in entries(node, what):
            if key.text not in known:
                raise FileError(key.mark, f"{what}: there is no {key.text}", _expected(key.text, known))
            self._values[key.text] = value

    def get(self, name: str) -> Node | None:
        """What stands there; a key without a value is as good as none."""
        found = self._values.get(name)
        return None if isinstance(found, Scalar) and found.is_null else found

    def need(self, name: str) -> Node:
        found = self.get(name)
        if found is None:
            raise FileError(self.mark, f"{self._what}: {name} is missing", f"write `{name}: ...`")
        return found

    def one_of(self, names: Sequence[str]) -> tuple[str, Node]:
        """The one that is there of some that exclude each other."""
        found = [(name, value) for name in names if (value := self.get(name)) is not None]
        if len(found) != 1:
            raise FileError(self.mark, f"{self._what}: one of {', '.join(names)} is expected, and only one")
        return found[0]


def _expected(found: str, known: Collection[str]) -> str:
    near = get_close_matches(found, known, 1)
    listed = f"expected: {', '.join(known)}"
    return f"did you mean {near[0]}? {listed}" if near else listed


def _float(found: str) -> float | None:
    try:
        return float(found)
    except ValueError:
        return None
