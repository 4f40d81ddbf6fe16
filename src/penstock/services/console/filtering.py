"""Which records are wanted: a small language, without loops and without patterns, so that no filter takes long.

    value.order.total > 100 and (key startswith "eu-" or headers.trace exists)

Paths begin with key, value, headers, partition, offset, timestamp or size, and go on through JSON with .name, ["name"]
and [0]. Tests are == != < <= > >= contains startswith exists; they are joined by and, or, not. What is not there is
equal to nothing, and a comparison of unlike things is false.
"""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from penstock.services.console.mistakes import Mistake

FILTER_LENGTH_MAX: Final = 1_000
DEPTH_MAX: Final = 20
HINT: Final = 'such as: value.total > 100 and key startswith "eu-"'
ROOTS: Final = frozenset({"key", "value", "headers", "partition", "offset", "timestamp", "size"})
_TOKEN: Final = re.compile(
    r"""\s*(?:
      (?P<text>"(?:[^"\\]|\\.)*"|'[^'\\]*')
    | (?P<number>-?\d+(?:\.\d+)?)
    | (?P<operator>==|!=|<=|>=|<|>)
    | (?P<mark>[()\[\].])
    | (?P<word>[A-Za-z_$@][\w$@-]*)
    )""",
    re.VERBOSE,
)
_MISSING: Final = object()
Fields = Mapping[str, Any]
Filter = Callable[[Fields], bool]


class _Token(NamedTuple):
    kind: str
    text: str


def filter_of(text: str) -> Filter:
    """What it says as a function of a record's fields; everything, where it says nothing."""
    if not text.strip():
        return lambda _: True
    if len(text) > FILTER_LENGTH_MAX:
        raise Mistake(f"a filter has at most {FILTER_LENGTH_MAX} characters", HINT)
    return _Parser(_tokens(text)).whole()


def _tokens(text: str) -> list[_Token]:
    found, at = [], 0
    text = text.rstrip()
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None or match.lastgroup is None:
            raise Mistake(f"the filter cannot be read at {text[at : at + 20]!r}", HINT)
        found.append(_Token(match.lastgroup, match[match.lastgroup]))
        at = match.end()
    return found


class _Parser:
    """One pass from left to right."""

    def __init__(self, tokens: list[_Token]) -> None:
        self._tokens = tokens
        self._at = 0

    def whole(self) -> Filter:
        found = self._either(0)
        if self._next() is not None:
            raise self._unexpected()
        return found

    def _next(self) -> _Token | None:
        return self._tokens[self._at] if self._at < len(self._tokens) else None

    def _takes(self, text: str) -> bool:
        token = self._next()
        if token is None or token.kind == "text" or token.text != text:
            return False
        self._at += 1
        return True

    def _unexpected(self) -> Mistake:
        token = self._next()
        return Mistake(
            "the filter ends too soon" if token is None else f"the filter has {token.text[:20]!r} here", HINT
        )

    def _either(self, depth: int) -> Filter:
        found = [self._all(depth)]
        while self._takes("or"):
            found.append(self._all(depth))
        return found[0] if len(found) == 1 else lambda fields: any(each(fields) for each in found)

    def _all(self, depth: int) -> Filter:
        found = [self._one(depth)]
        while self._takes("and"):
            found.append(self._one(depth))
        return found[0] if len(found) == 1 else lambda fields: all(each(fields) for each in found)

    def _one(self, depth: int) -> Filter:
        if depth > DEPTH_MAX:
            raise Mistake("the filter is nested too deeply", HINT)
        if self._takes("not"):
            inner = self._one(depth + 1)
            return lambda fields: not inner(fields)
        if self._takes("("):
            inner = self._either(depth + 1)
            if not self._takes(")"):
                raise self._unexpected()
            return inner
        return self._test()

    def _test(self) -> Filter:
        path = self._path()
        token = self._next()
        if token is not None and token.kind != "text" and token.text in _TESTS:
            self._at += 1
            test, wanted = _TESTS[token.text], self._literal()
            return lambda fields: test(_found(fields, path), wanted)
        self._takes("exists")
        return lambda fields: _found(fields, path) is not _MISSING

    def _path(self) -> tuple[str | int, ...]:
        token = self._next()
        if token is None or token.kind != "word" or token.text not in ROOTS:
            raise self._unexpected()
        self._at += 1
        path: list[str | int] = [token.text]
        while True:
            if self._takes("."):
                path.append(self._name("word"))
            elif self._takes("["):
                path.append(self._index())
            else:
                return tuple(path)

    def _name(self, kind: str) -> str:
        token = self._next()
        if token is None or token.kind != kind:
            raise self._unexpected()
        self._at += 1
        return token.text

    def _index(self) -> str | int:
        value = self._literal()
        if not isinstance(value, str | int) or not self._takes("]"):
            raise self._unexpected()
        return value

    def _literal(self) -> Any:
        token = self._next()
        if token is None or (token.kind not in ("text", "number") and token.text not in _WORDS):
            raise self._unexpected()
        self._at += 1
        if token.kind == "number":
            return float(token.text) if "." in token.text else int(token.text)
        if token.kind == "word":
            return _WORDS[token.text]
        return _unquoted(token.text)


_WORDS: Final = {"true": True, "false": False, "null": None}


def _unquoted(text: str) -> str:
    if text.startswith("'"):
        return text[1:-1]
    try:
        return str(json.loads(text))
    except ValueError:
        raise Mistake(f"{text[:40]} is no text", "between double quotes it is as in JSON") from None


def _found(fields: Fields, path: tuple[str | int, ...]) -> Any:
    value: Any = fields.get(str(path[0]), _MISSING)
    for step in path[1:]:
        if isinstance(value, dict) and isinstance(step, str):
            value = value.get(step, _MISSING)
        elif isinstance(value, list) and isinstance(step, int) and -len(value) <= step < len(value):
            value = value[step]
        else:
            return _MISSING
    return value


def _ordered(compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    def test(value: Any, wanted: Any) -> bool:
        numbers = isinstance(value, int | float) and isinstance(wanted, int | float)
        texts = isinstance(value, str) and isinstance(wanted, str)
        return (numbers or texts) and compare(value, wanted)

    return test


def _contains(value: Any, wanted: Any) -> bool:
    if isinstance(value, str):
        return isinstance(wanted, str) and wanted in value
    if isinstance(value, dict | list):
        return wanted in value or (isinstance(wanted, str) and wanted in json.dumps(value, ensure_ascii=False))
    return False


def _starts(value: Any, wanted: Any) -> bool:
    return isinstance(value, str) and isinstance(wanted, str) and value.startswith(wanted)


_TESTS: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "==": lambda value, wanted: value is not _MISSING and value == wanted,
    "!=": lambda value, wanted: value is _MISSING or value != wanted,
    "<": _ordered(operator.lt),
    "<=": _ordered(operator.le),
    ">": _ordered(operator.gt),
    ">=": _ordered(operator.ge),
    "contains": _contains,
    "startswith": _starts,
}
