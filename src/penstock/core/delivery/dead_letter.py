"""The headers of a dead letter: where a record comes from, what was wrong with it, and how often it was tried.

Whoever writes dead letters writes these, so that one tool reads and redrives them all. The names follow those of Kafka
Connect; all values are text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from penstock.core.delivery.policy import GiveUp

PREFIX: Final = "__penstock.errors."
SUFFIX: Final = ".dlq"
"""What a topic's dead letters are named after it, unless somebody says otherwise."""

Headers = Sequence[tuple[str, bytes | None]]


REDRIVEN_HEADER: Final = "__penstock.redriven.from"
"""On a record that came back into its topic: which dead letter it was, as `orders.dlq-0@15`."""

_OFFSETS_END: Final = 1 << 63


class Origin(NamedTuple):
    """Where a record was read."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int


def dead_letter_headers(own: Headers, origin: Origin, reason: GiveUp, reader: str) -> list[tuple[str, bytes | None]]:
    """The record's own headers, then what is known of it. `reader` says who gave up, such as `group=payments`."""
    kind, _, name = reader.partition("=")
    facts = {
        "topic": origin.topic,
        "partition": origin.partition,
        "offset": origin.offset,
        "timestamp": origin.timestamp_ms,
        "class": reason.error_class,
        "message": reason.message,
        "attempts": reason.attempts,
        kind: name,
    }
    return [*own, *((PREFIX + fact, str(value).encode("utf-8", "replace")) for fact, value in facts.items())]


class Letter(NamedTuple):
    """What a dead letter says of itself. Parts that its writer left out are empty, and None where they are numbers."""

    topic: str
    partition: int | None
    offset: int | None
    timestamp_ms: int | None
    reason: str
    message: str
    attempts: int | None
    reader: str


def read_letter(headers: Headers) -> Letter | None:
    """None if it is a record like any other. Of a letter that was redriven and failed again the last word counts."""
    facts = {name.removeprefix(PREFIX): _text(value) for name, value in headers if name.startswith(PREFIX)}
    if "topic" not in facts:
        return None
    (kind, name), *_ = [*_readers(facts), ("", "")]
    return Letter(
        facts["topic"],
        _number(facts, "partition"),
        _number(facts, "offset"),
        _number(facts, "timestamp"),
        facts.get("class", ""),
        facts.get("message", ""),
        _number(facts, "attempts"),
        f"{kind}={name}" if kind else "",
    )


def own_headers(headers: Headers) -> list[tuple[str, bytes | None]]:
    """Those that the record had before it became a dead letter."""
    return [(name, value) for name, value in headers if not name.startswith(PREFIX)]


def _readers(facts: Mapping[str, str]) -> list[tuple[str, str]]:
    """The fact that is none of the others says who gave up."""
    return [(kind, name) for kind, name in facts.items() if kind not in _FACTS]


_FACTS: Final = frozenset({"topic", "partition", "offset", "timestamp", "class", "message", "attempts"})


def _number(facts: Mapping[str, str], fact: str) -> int | None:
    """Whoever wrote it may have written anything."""
    text = facts.get(fact, "")
    digits = text.removeprefix("-")
    return int(text) if digits.isascii() and digits.isdecimal() and int(digits) < _OFFSETS_END else None


def _text(value: bytes | None) -> str:
    return (value or b"").decode("utf-8", "replace")
