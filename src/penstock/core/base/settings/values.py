"""From text to a typed value and back, with Kafka's rules for each type."""

from __future__ import annotations

import re
from typing import Any, Final

from penstock.core.base.settings.key import Key, Kind, Password, SettingError, Validator
from penstock.core.base.settings.text import java_text
from penstock.core.base.settings.validators import ListOf, invalid

# Java's trim() takes away every character up to and including the space, and nothing else.
_BLANKS: Final = "".join(map(chr, range(0x21)))
_COMMA: Final = re.compile(r"\s*,\s*", re.ASCII)
# Java takes the digits of every script in whole numbers, but not in others.
_WHOLE: Final = re.compile(r"[+-]?\d+")
_REAL: Final = r"([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)[fFdD]?"
_BOOLEANS: Final = {"true": True, "false": False}
_BITS: Final = {Kind.SHORT: 16, Kind.INT: 32, Kind.LONG: 64}


def parse_value(key: Key, text: str) -> Any:
    """The typed value of `text`, or a SettingError that names what is allowed."""
    return read_text(key.name, key.kind, key.valid, text)


def read_text(name: str, kind: Kind, valid: Validator | None, text: str) -> Any:
    """As `parse_value`, for the parts of a key that is still being made."""
    value = _parse(name, kind, text)
    if isinstance(valid, ListOf):
        # Kafka drops repeated entries where it knows the list to be a set.
        value = tuple(dict.fromkeys(value))
    if valid is not None and (problem := valid.problem(name, value)):
        raise SettingError(problem)
    return value


def _parse(name: str, kind: Kind, text: str) -> Any:
    trimmed = text.strip(_BLANKS)
    value: float | None
    match kind:
        case Kind.BOOLEAN:
            value, why = _BOOLEANS.get(trimmed.lower()), "Expected value to be either true or false"
        case Kind.INT | Kind.SHORT | Kind.LONG:
            value, why = _whole(kind, trimmed), f"Not a number of type {kind.name}"
        case Kind.DOUBLE:
            value, why = _real(trimmed), "Not a number of type DOUBLE"
        case Kind.LIST:
            return tuple(_COMMA.split(trimmed)) if trimmed else ()
        case Kind.PASSWORD:
            return Password(trimmed)
        case _:
            return trimmed
    if value is None:
        raise SettingError(invalid(name, text, why))
    return value


def _whole(kind: Kind, text: str) -> int | None:
    if not _WHOLE.fullmatch(text):
        return None
    value, limit = int(text), 1 << (_BITS[kind] - 1)
    return value if -limit <= value < limit else None


def _real(text: str) -> float | None:
    match = re.fullmatch(_REAL, text)
    return float(match[1]) if match else None


def format_value(key: Key, value: Any) -> str | None:
    """The text Kafka shows for a typed value; None where there is no value, a mask for a secret."""
    if value is None:
        return None
    if key.kind is Kind.LIST:
        return ",".join(value)
    return java_text(value)
