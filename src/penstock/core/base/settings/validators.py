"""Which values a setting allows, with the sentences Kafka's own tools print when it does not."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from penstock.core.base.settings.key import Validator
from penstock.core.base.settings.tenants import problem_with
from penstock.core.base.settings.text import java_text

# Patterns are text here: they are compiled when a file is read, not when the module is.
_HOST_PORT: Final = r"(?:[0-9a-zA-Z\-%._]*://)?\[?([0-9a-zA-Z\-%._:]*)\]?:([0-9]+)"
_REPLICA: Final = r"[0-9]+:[0-9]+"
_DURATION: Final = (
    r"(?i)[+]?P(?=[+0-9T])(?:[+]?[0-9]+D)?"
    r"(?:T(?=[+0-9])(?:[+]?[0-9]+H)?(?:[+]?[0-9]+M)?(?:[+]?[0-9]+(?:[.,][0-9]{0,9})?S)?)?"
)


def invalid(name: str, value: Any, why: str) -> str:
    return f"Invalid value {java_text(value)} for configuration {name}: {why}"


class Between:
    """A number from `low` to `high`, both included; `also` is one further value that stands for a default."""

    __slots__ = ("also", "high", "low")

    def __init__(self, low: float, high: float | None = None, also: int | None = None) -> None:
        self.low = low
        self.high = high
        self.also = also

    def problem(self, name: str, value: float) -> str | None:
        inside = value >= self.low and (self.high is None or value <= self.high)
        if inside or (self.also is not None and value == self.also):
            return None
        return invalid(name, value, self._why(value))

    def _why(self, value: float) -> str:
        if self.also is not None:
            return f"Value must be between {self.low} and {self.high} or equal to {self.also}"
        if value < self.low:
            return f"Value must be at least {self.low}"
        return f"Value must be no more than {self.high}"

    def __str__(self) -> str:
        span = f"[{self.low},...]" if self.high is None else f"[{self.low},...,{self.high}]"
        return span if self.also is None else f"{span} or {self.also}"


class OneOf:
    """One of the listed words."""

    __slots__ = ("any_case", "words")

    def __init__(self, words: tuple[str, ...], any_case: bool = False) -> None:
        self.words = tuple(word.upper() for word in words) if any_case else words
        self.any_case = any_case

    def problem(self, name: str, value: str) -> str | None:
        if (value.upper() if self.any_case else value) in self.words:
            return None
        hint = " (case insensitive)" if self.any_case else ""
        return invalid(name, value, f"String must be one of{hint}: {', '.join(self.words)}")

    def __str__(self) -> str:
        return f"{'(case insensitive) ' if self.any_case else ''}[{', '.join(self.words)}]"


class ListOf:
    """A list without empty entries; of the listed words only, when there are any."""

    __slots__ = ("may_be_empty", "one_of")

    def __init__(self, words: tuple[str, ...] = (), may_be_empty: bool = False) -> None:
        self.one_of = OneOf(words)
        self.may_be_empty = may_be_empty

    def problem(self, name: str, value: tuple[str, ...]) -> str | None:
        if not value and not self.may_be_empty:
            allowed = str(self.one_of) if self.one_of.words else "any non-empty value"
            return f"Configuration '{name}' must not be empty. Valid values include: {allowed}"
        for entry in value:
            if not entry:
                return f"Configuration '{name}' values must not be empty."
            if self.one_of.words and (problem := self.one_of.problem(name, entry)):
                return problem
        return None

    def __str__(self) -> str:
        return str(self.one_of) if self.one_of.words else ""


class NonEmpty:
    """A text that, when given, is not empty."""

    __slots__ = ()

    def problem(self, name: str, value: str) -> str | None:
        return None if value else invalid(name, value, "String must be non-empty")

    def __str__(self) -> str:
        return "non-empty string"


class EachEntry:
    """A list whose entries all pass one check, which answers what is wrong with an entry."""

    __slots__ = ("check", "shape")

    def __init__(self, shape: str, check: Callable[[str, str], str | None]) -> None:
        self.shape = shape
        self.check = check

    def problem(self, name: str, value: tuple[str, ...]) -> str | None:
        return next((problem for entry in value if (problem := self.check(name, entry))), None)

    def __str__(self) -> str:
        return self.shape


class ThrottledReplicas:
    """`*` for all replicas, or a list of partition:broker pairs."""

    __slots__ = ()

    def problem(self, name: str, value: tuple[str, ...]) -> str | None:
        if "".join(value) == "*" or all(not entry or re.fullmatch(_REPLICA, entry) for entry in value):
            return None
        return invalid(
            name,
            value,
            f"{name} must be the literal '*' or a list of replicas in the following format: {self},...",
        )

    def __str__(self) -> str:
        return "[partitionId]:[brokerId],[partitionId]:[brokerId]"


class Tenants:
    """Who owns which topics."""

    __slots__ = ()

    def problem(self, name: str, value: tuple[str, ...]) -> str | None:
        found = problem_with(value)
        return None if found is None else invalid(name, ",".join(value), found)

    def __str__(self) -> str:
        return "name:prefix:partitions,..."


class Expression:
    """A regular expression, or nothing."""

    __slots__ = ()

    def problem(self, name: str, value: str) -> str | None:
        from penstock.core.base.patterns.pattern import Pattern  # only where somebody has given one
        from penstock.core.base.patterns.tree import InvalidPattern

        try:
            if value:
                Pattern(value)
        except InvalidPattern as error:
            return invalid(name, value, str(error))
        return None

    def __str__(self) -> str:
        return "a regular expression"


class OffsetReset:
    """Where a share group without offsets begins."""

    __slots__ = ()

    def problem(self, name: str, value: str) -> str | None:
        duration = value.removeprefix("by_duration:")
        if value in ("earliest", "latest") or (duration != value and re.fullmatch(_DURATION, duration)):
            return None
        shapes = "The value must be either 'earliest', 'latest' or of the format 'by_duration:<PnDTnHnMn.nS>'."
        return invalid(name, value, f"Invalid value `{value}` for configuration {name}. {shapes}")

    def __str__(self) -> str:
        return "[latest, earliest, by_duration:PnDTnHnMn.nS]"


def host_and_port(text: str) -> tuple[str, int] | None:
    """`host:port`, also with an IPv6 host in brackets; None when it is neither."""
    match = re.fullmatch(_HOST_PORT, text)
    return (match[1], int(match[2])) if match else None


def _server_problem(name: str, entry: str) -> str | None:
    if host_and_port(entry):
        return None
    shape = 'Each entry should be in the form "{host}:{port}"'
    return f"Failed to parse host name from {entry} for the configuration {name}. {shape}"


def _voter_problem(name: str, entry: str) -> str | None:
    shape = "Each entry should be in the form `{id}@{host}:{port}`."
    parts = entry.split("@")
    if len(parts) != 2:
        return f"Invalid configuration value for {name}. {shape}"
    if not re.fullmatch(r"[+-]?[0-9]+", parts[0]):
        return f"Failed to parse voter ID as an integer from {parts[0]}"
    if not host_and_port(parts[1]):
        return f"Failed to parse host name from entry {entry} for the configuration {name}. {shape}"
    return None


_NAMED: Final[dict[str, Callable[[], Validator]]] = {
    "list": ListOf,
    "list or empty": lambda: ListOf(may_be_empty=True),
    "non-empty": NonEmpty,
    "servers": lambda: EachEntry("list of {host}:{port}", _server_problem),
    "voters": lambda: EachEntry("list of {id}@{host}:{port}", _voter_problem),
    "throttled replicas": ThrottledReplicas,
    "offset reset": OffsetReset,
    "tenants": Tenants,
    "expression": Expression,
}
_cache: dict[str, Validator | None] = {"": None}


def read_validator(notation: str) -> Validator | None:
    """The validator for the short notation of the tables, such as `>= 1`, `0 .. 1` or `one of: a b`."""
    if notation not in _cache:
        _cache[notation] = _make(notation)
    return _cache[notation]


def _make(notation: str) -> Validator:
    if named := _NAMED.get(notation):
        return named()
    if notation.startswith(">= "):
        return Between(_number(notation[3:]))
    rule, colon, words = notation.partition(": ")
    if colon:
        return _word_rule(rule, tuple(words.split()))
    special, _, span = notation.rpartition(" or ")
    low, dots, high = span.partition(" .. ")
    assert dots, f"unknown notation {notation!r}"
    return Between(_number(low), _number(high), int(special) if special else None)


def _word_rule(rule: str, words: tuple[str, ...]) -> Validator:
    match rule:
        case "one of":
            return OneOf(words)
        case "one of, any case":
            return OneOf(words, any_case=True)
        case "list of":
            return ListOf(words)
        case "list of, or empty":
            return ListOf(words, may_be_empty=True)
    raise AssertionError(f"unknown notation {rule!r}")


def _number(text: str) -> float:
    return float(text) if "." in text else int(text)
