"""Subscriptions to clients' own metrics (KIP-714): which clients push which of them, and how often.

A subscription is a configured resource: `metrics`, a list of prefixes or `*`, `interval.ms`, and `match`, a list of
`name=expression`, all of which must fit a client from end to end.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Final, NamedTuple

from crc32c import crc32c

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.base.patterns.pattern import Pattern
from penstock.core.base.patterns.tree import InvalidPattern
from penstock.core.base.steps import at_once

METRICS: Final = "metrics"
INTERVAL: Final = "interval.ms"
MATCH: Final = "match"
LISTS: Final = frozenset({METRICS, MATCH})
DEFAULTS: Final[Mapping[str, str]] = {INTERVAL: "300000", MATCH: "", METRICS: ""}
ALL: Final = "*"
INTERVAL_MS_MIN, INTERVAL_MS_MAX = 100, 3_600_000


class ClientFacts(NamedTuple):
    """What a subscription may ask of a client, by Kafka's names."""

    client_instance_id: str
    client_id: str
    client_software_name: str
    client_software_version: str
    client_source_address: str
    client_source_port: str


class Subscription(NamedTuple):
    """One resource."""

    name: str
    metrics: tuple[str, ...]
    interval_ms: int
    match: tuple[tuple[str, str], ...]

    def fits(self, facts: ClientFacts) -> bool:
        return all(at_once(_compiled(pattern).matches(getattr(facts, field))) for field, pattern in self.match)


class Wanted(NamedTuple):
    """What one client is asked for."""

    metrics: tuple[str, ...]
    interval_ms: int

    def id_for(self, instance_id: bytes) -> int:
        """Another one whenever something else is asked of the same client."""
        crc = crc32c(f"{self.metrics}{self.interval_ms}".encode())
        folded = crc ^ crc32c(instance_id)
        return folded - (1 << 32) if folded & 0x8000_0000 else folded


def wanted(subscriptions: Iterable[Subscription], facts: ClientFacts) -> Wanted:
    """All that fit count together: whatever one of them asks for, and as often as one of them wants it."""
    metrics: set[str] = set()
    interval_ms = int(DEFAULTS[INTERVAL])
    for each in subscriptions:
        if each.fits(facts):
            metrics.update(each.metrics)
            interval_ms = min(interval_ms, each.interval_ms)
    return Wanted((ALL,) if ALL in metrics else tuple(sorted(metrics)), interval_ms)


def subscription(name: str, configs: Mapping[str, str]) -> Subscription:
    """A resource, read; raises the error that whoever sets it gets."""
    if not name:
        raise ApiError(ErrorCode.INVALID_REQUEST, "A subscription needs a name.")
    for key in configs:
        if key not in DEFAULTS:
            raise ApiError(ErrorCode.INVALID_REQUEST, f"Subscriptions have no setting {key!r}.")
    values = {**DEFAULTS, **configs}
    return Subscription(name, items(values[METRICS]), _interval_ms(values[INTERVAL]), _match(values[MATCH]))


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> Pattern:
    return Pattern(pattern)


def items(text: str) -> tuple[str, ...]:
    return tuple(item.strip() for item in text.split(",") if item.strip())


def _interval_ms(text: str) -> int:
    try:
        interval_ms = int(text)
    except ValueError:
        raise ApiError(ErrorCode.INVALID_CONFIG, f"{text!r} is no number for {INTERVAL}.") from None
    if not INTERVAL_MS_MIN <= interval_ms <= INTERVAL_MS_MAX:
        why = f"{INTERVAL} is {interval_ms}: it must be from {INTERVAL_MS_MIN} to {INTERVAL_MS_MAX}."
        raise ApiError(ErrorCode.INVALID_REQUEST, why)
    return interval_ms


def _match(text: str) -> tuple[tuple[str, str], ...]:
    found = []
    for item in items(text):
        field, is_pair, pattern = (part.strip() for part in item.partition("="))
        if not is_pair or not pattern or "=" in pattern or field not in ClientFacts._fields:
            raise ApiError(ErrorCode.INVALID_CONFIG, f"{item!r} is no pattern for clients: name=expression.")
        try:
            _compiled(pattern)
        except InvalidPattern as error:
            raise ApiError(ErrorCode.INVALID_CONFIG, f"{item!r} cannot be read: {error}.") from None
        found.append((field, pattern))
    return tuple(found)
