"""How people write settings, headers, times and places in arguments, and what to say when they are written wrongly."""

import re
import sys
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta

import typer

# Timestamps are signed numbers of 64 bits.
TIMESTAMP_MS_END = 1 << 63
# What the protocol has room for.
PARTITIONS_MAX = (1 << 31) - 1
COPIES_MAX = (1 << 15) - 1
_AGO = re.compile(r"([0-9]+)(s|m|h|d)")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


def assignments(texts: Iterable[str], option: str) -> dict[str, str]:
    """`key=value` texts as a mapping."""
    return dict(pairs(texts, option))


def pairs(texts: Iterable[str], option: str) -> list[tuple[str, str]]:
    """`key=value` texts in order, where a key may come again."""
    found = []
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise typer.BadParameter(f"{text!r} is not KEY=VALUE", param_hint=option)
        found.append((key, value))
    return found


def at_least(least: int, most: int = sys.maxsize) -> Callable[[int | None], int | None]:
    """A check of a number, for options whose help need not say what everybody knows."""

    def check(number: int | None) -> int | None:
        if number is not None and not least <= number <= most:
            is_open = most == sys.maxsize and number < least
            raise typer.BadParameter(f"{number} is not {f'{least} or more' if is_open else f'from {least} to {most}'}")
        return number

    return check


def timestamp_ms(text: str, now: datetime) -> int | None:
    """A moment in milliseconds: ISO 8601 (local time unless it says otherwise), `@` and milliseconds, or `15m` for a
    quarter of an hour ago. None if it is none of these."""
    if text.startswith("@") and text[1:].isdecimal():
        moment = int(text[1:])
        return moment if moment < TIMESTAMP_MS_END else None
    try:
        if match := _AGO.fullmatch(text):
            return _ms(now - timedelta(**{_UNITS[match[2]]: int(match[1])}))
        return _ms(datetime.fromisoformat(text))
    except (ValueError, OverflowError):
        return None


def duration_ms(text: str, option: str) -> int:
    """`30s`, `15m`, `2h` or `1d` in milliseconds."""
    match = _AGO.fullmatch(text)
    if match is None:
        raise typer.BadParameter(f"{text!r} is no time, such as 30s, 15m or 2h", param_hint=option)
    try:
        return int(timedelta(**{_UNITS[match[2]]: int(match[1])}).total_seconds() * 1000)
    except OverflowError:
        raise typer.BadParameter(f"{text} is longer than anything has lasted", param_hint=option) from None


def time_text(ms: int) -> str:
    """A timestamp as a person reads it, in local time; records without one show nothing."""
    if ms < 0:
        return ""
    try:
        return datetime.fromtimestamp(ms / 1000).astimezone().isoformat(timespec="milliseconds")
    except (OverflowError, ValueError, OSError):
        # A producer may write any 64-bit number; those beyond the calendar stay numbers.
        return f"@{ms}"


def _ms(moment: datetime) -> int:
    return int(moment.timestamp() * 1000)
