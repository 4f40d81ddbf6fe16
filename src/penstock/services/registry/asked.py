"""A request as the handlers see it, and which handler gets it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qsl, quote, unquote

from penstock.core.schemas.subjects import context_name, prefix_of, qualified
from penstock.services.registry.errors import RestError

if TYPE_CHECKING:
    from penstock.services.registry.registry import Registry

QUERY_FIELDS_MAX: Final = 100
ANONYMOUS: Final = ""


class Right(Enum):
    """What a request needs to be allowed to do."""

    NOTHING = auto()
    READ = auto()
    WRITE = auto()
    DELETE = auto()
    DESCRIBE_CONFIG = auto()
    ALTER_CONFIG = auto()


@dataclass(slots=True)
class Asked:
    """One request."""

    method: str
    segments: tuple[str, ...]
    query: Mapping[str, list[str]]
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    user: str = ANONYMOUS
    host: str = ""
    may_see: Callable[[str], bool] = lambda _subject: True

    def get(self, name: str, default: str = "") -> str:
        return self.query.get(name, [default])[-1]

    def flag(self, name: str) -> bool:
        return self.get(name).lower() == "true"

    def number(self, name: str, default: int) -> int:
        text = self.get(name)
        if not text:
            return default
        try:
            return int(text)
        except ValueError:
            raise RestError(404, "HTTP 404 Not Found") from None

    @property
    def target(self) -> str:
        """The path and the query, as another registry is asked."""
        path = "/" + "/".join(quote(each, safe="") for each in self.segments)
        query = "&".join(f"{quote(name)}={quote(each)}" for name, values in self.query.items() for each in values)
        return f"{path}?{query}" if query else path

    def page(self, found: list[Any]) -> list[Any]:
        first, count = max(self.number("offset", 0), 0), self.number("limit", -1)
        return found[first : first + count] if count >= 0 else found[first:]


Handler = Callable[["Registry", Asked], Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class Route:
    """`pattern` has a star where anything may stand. What `changes` something goes to the leader."""

    method: str
    pattern: str
    handler: Handler
    right: Right
    changes: bool = False

    def fits(self, method: str, segments: tuple[str, ...]) -> bool:
        parts = self.pattern.split("/")[1:]
        if method != self.method or len(parts) != len(segments):
            return False
        return all(part in ("*", segment) for part, segment in zip(parts, segments, strict=True))


class Plain(str):
    """An answer that is text, not JSON."""

    __slots__ = ()


class Nothing:
    """An answer without a body."""


def asked(method: str, raw_path: bytes, query: bytes) -> Asked:
    """With the context of a path `/contexts/NAME/...` in the names of its subjects."""
    path = raw_path.partition(b"?")[0].decode("ascii", "replace").strip("/")
    segments = tuple(unquote(each) for each in path.split("/")) if path else ()
    fields: dict[str, list[str]] = {}
    try:
        found = parse_qsl(query.decode("ascii", "replace"), keep_blank_values=True, max_num_fields=QUERY_FIELDS_MAX)
    except ValueError:
        raise RestError(400, f"there are more than {QUERY_FIELDS_MAX} parameters") from None
    for name, value in found:
        fields.setdefault(name, []).append(value)
    if len(segments) > 2 and segments[0] == "contexts":
        return _in_context(method, segments[1], segments[2:], fields)
    return Asked(method, segments, fields)


def _in_context(method: str, name: str, segments: tuple[str, ...], fields: dict[str, list[str]]) -> Asked:
    context = context_name(name)
    if context is None:
        raise RestError(400, f"Context name '{name}' cannot contain a colon")
    prefix, first = prefix_of(context), segments[0]
    place = 2 if first == "compatibility" else 1
    if first in ("subjects", "compatibility", "config", "mode") and len(segments) > place:
        segments = (*segments[:place], _within(prefix, segments[place]), *segments[place + 1 :])
    elif first in ("config", "mode"):
        segments = (first, prefix) if prefix else segments
    elif first == "subjects" or segments == ("schemas",):
        fields["subjectPrefix"] = [_within(prefix, fields.get("subjectPrefix", [""])[-1])]
    elif first == "schemas":
        fields["subject"] = [_within(prefix, fields.get("subject", [""])[-1])]
    return Asked(method, segments, fields)


def _within(prefix: str, subject: str) -> str:
    return subject if subject.startswith((":.", ":*:")) else prefix + subject


def subject_of(text: str) -> str:
    """One spelling for each subject: that of the default context has no prefix."""
    return str(qualified(text))
