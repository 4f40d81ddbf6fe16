"""What a broker offers, beside what a broker of Kafka 4.3 does, and why each difference is there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from penstock.core.wire.api_table import APIS

CONTROLLER_ONLY: Final = frozenset({52, 53, 54, 56, 58, 59, 62, 63, 67, 70, 73, 82})
"""Brokers do not offer these, as nobody but other nodes asks for them, at a controller."""
UNSTABLE: Final = {22: 5}
"""The newest version that is offered where `unstable.api.versions.enable` is not set."""
OFFERED_FROM: Final = {0: 0}
"""librdkafka needs Produce offered from version 0, although its first three versions are refused."""
_METRICS: Final = "offered while there is a subscription to the metrics of clients"
NOT_EXPLAINED: Final = "not explained"
EXPLAINED: Final[Mapping[int, str]] = {
    17: "clients spoke version 0 before Kafka 1.0",
    34: "a node has one log directory",
    71: _METRICS,
    72: _METRICS,
}


class Difference(NamedTuple):
    key: int
    api: str
    kafka: str | None
    offered: str | None
    why: str


def beside_kafka(offered: Mapping[int, range]) -> list[Difference]:
    """By key, what differs; what both say alike is left out."""
    theirs = {key: _in_kafka(key) for key in APIS if key not in CONTROLLER_ONLY}
    return [
        Difference(
            key, APIS[key].name if key in APIS else str(key), _text(theirs.get(key)), _text(offered.get(key)), why
        )
        for key in sorted({*theirs, *offered})
        if theirs.get(key) != offered.get(key)
        for why in [_why(key, theirs.get(key), offered.get(key))]
    ]


def _in_kafka(key: int) -> range:
    api = APIS[key]
    return range(OFFERED_FROM.get(key, api.version_min), UNSTABLE.get(key, api.version_max) + 1)


def _why(key: int, theirs: range | None, offered: range | None) -> str:
    if key in UNSTABLE and offered is not None and theirs is not None and offered.start == theirs.start:
        return "unstable.api.versions.enable is set"
    return EXPLAINED.get(key, NOT_EXPLAINED)


def _text(versions: range | None) -> str | None:
    return None if versions is None else f"{versions.start}-{versions.stop - 1}"
