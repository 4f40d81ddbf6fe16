"""Where a query begins or ends, as its options say it, before anybody asked a broker."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from penstock.client.offsets import EARLIEST, LATEST
from penstock.spark.source.errors import OptionError
from penstock.spark.source.places import Offsets, listed, parse_offsets


@dataclass(frozen=True)
class Edge:
    """The first offset of each partition (EARLIEST) or the one after its last (LATEST)."""

    at: int


@dataclass(frozen=True)
class ByOffset:
    """An offset for each partition; EARLIEST and LATEST stand for the edges."""

    offsets: Offsets


@dataclass(frozen=True)
class ByTime:
    """The first offset at or after a time: one time for all partitions, or one for each."""

    times_ms: Offsets | int
    latest_if_none: bool
    """What a start does in a partition that has nothing so late: begin at its end, or fail. An end is its end."""


Position = Edge | ByOffset | ByTime
BEGINNING = Edge(EARLIEST)
END = Edge(LATEST)


def position_of(options: Mapping[str, str], side: str, default: Position) -> Position:
    """The position that the options of one side (`starting` or `ending`) ask for. A time for all partitions comes
    before times for each, and those before offsets."""
    latest_if_none = _latest_if_none(options)
    if (text := options.get(f"{side}Timestamp")) is not None:
        return ByTime(_milliseconds(f"{side}Timestamp", text.strip()), latest_if_none)
    if (text := options.get(f"{side}OffsetsByTimestamp")) is not None:
        return ByTime(parse_offsets(f"{side}OffsetsByTimestamp", text.strip()), latest_if_none)
    if (text := options.get(f"{side}Offsets")) is None:
        return default
    edges = {"earliest": BEGINNING, "latest": END}
    return edges.get(text.strip().lower()) or ByOffset(parse_offsets(f"{side}Offsets", text.strip()))


def check_batch(start: Position, end: Position) -> None:
    """A batch has a beginning and an end that exist when it is planned, the one before the other."""
    if start == END:
        raise OptionError("startingOffsets can't be latest for a batch query")
    if end == BEGINNING:
        raise OptionError("endingOffsets can't be earliest for a batch query")
    if isinstance(start, ByOffset) and LATEST in start.offsets.values():
        raise OptionError("startingOffsets can't be latest (-1) for a batch query")
    if isinstance(end, ByOffset) and EARLIEST in end.offsets.values():
        raise OptionError("endingOffsets can't be earliest (-2) for a batch query")
    if isinstance(start, ByOffset) and isinstance(end, ByOffset):
        _check_order("offset", start.offsets, end.offsets)
    if isinstance(start, ByTime) and isinstance(end, ByTime):
        _check_times(start.times_ms, end.times_ms)


def _check_times(start: Offsets | int, end: Offsets | int) -> None:
    if isinstance(start, Mapping) and isinstance(end, Mapping):
        _check_order("timestamp", start, end)


def _check_order(kind: str, start: Offsets, end: Offsets) -> None:
    if start.keys() != end.keys():
        raise OptionError(
            f"the starting {kind}s are for {listed(start)}, the ending ones for {listed(end)}: name the same partitions"
        )
    for where, first in start.items():
        if first >= 0 and 0 <= end[where] < first:
            raise OptionError(f"the starting {kind} {first} of {where} is greater than the ending one, {end[where]}")


def _latest_if_none(options: Mapping[str, str]) -> bool:
    strategy = options.get("startingOffsetsByTimestampStrategy", "error").strip().lower()
    if strategy not in ("error", "latest"):
        raise OptionError(f"startingOffsetsByTimestampStrategy is error or latest, not {strategy}")
    return strategy == "latest"


def _milliseconds(option: str, text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise OptionError(f"{option} expects milliseconds since 1970 as one whole number, got {text}") from None
