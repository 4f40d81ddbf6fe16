"""The options of a reading query, checked once and kept as a value. Names and meanings are those of Spark's Kafka
source; what goes beyond it says so."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, TypeVar

from penstock.spark.rows.settings import ISOLATION_LEVELS, ClientSettings
from penstock.spark.rows.spelling import check_spelling
from penstock.spark.source.errors import OptionError
from penstock.spark.source.positions import BEGINNING, END, Position, check_batch, position_of
from penstock.spark.source.subscribing import Subscription, subscription_of

T = TypeVar("T")
FOR_STREAMS: Final = (
    "maxOffsetsPerTrigger",
    "minOffsetsPerTrigger",
    "maxTriggerDelay",
    "maxBytesPerTrigger",
    "commitGroup",
)
_log = logging.getLogger("penstock.spark")
_UNITS_MS: Final = {"us": 0.001, "ms": 1, "s": 1000, "m": 60_000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}
_DURATION: Final = re.compile(r"(\d+)\s*([a-z]*)")


@dataclass(frozen=True)
class Limits:
    """How much one batch of a stream may take, and how little is worth a batch."""

    offsets_max: int | None
    offsets_min: int | None
    delay_ms_max: int
    # Beyond Spark's source: bytes as the log stores them, estimated by the mean size of an offset in each partition.
    bytes_max: int | None


@dataclass(frozen=True)
class Retries:
    """How often the driver asks for offsets before the query fails, and how long a picture of the topics is good."""

    attempts: int
    pause_ms: int
    metadata_age_ms_max: int


@dataclass(frozen=True)
class SourceOptions:
    settings: ClientSettings
    subscription: Subscription
    start: Position
    end: Position
    limits: Limits
    retries: Retries
    partitions_min: int | None
    offsets_per_task_max: int | None
    fail_on_data_loss: bool
    isolation: str
    # Beyond Spark's source: the query's progress shows as this consumer group.
    commit_group: str | None

    @classmethod
    def for_batch(cls, options: Mapping[str, str]) -> SourceOptions:
        parsed = cls._of(options, BEGINNING)
        check_batch(parsed.start, parsed.end)
        if ignored := [name for name in FOR_STREAMS if name in options]:
            _log.warning("ignored in a batch query: %s", ", ".join(ignored))
        return parsed

    @classmethod
    def for_stream(cls, options: Mapping[str, str]) -> SourceOptions:
        for option in ("endingOffsets", "endingOffsetsByTimestamp", "endingTimestamp"):
            if option in options:
                raise OptionError(f"{option} is not valid in streaming queries: a stream has no end")
        return cls._of(options, END)

    @classmethod
    def _of(cls, options: Mapping[str, str], start: Position) -> SourceOptions:
        check_spelling(options)
        settings = ClientSettings.of(options)
        return cls(
            settings=settings,
            subscription=subscription_of(options),
            start=position_of(options, "starting", start),
            end=position_of(options, "ending", END),
            limits=_limits(options),
            retries=_retries(options),
            partitions_min=_maybe(options, "minPartitions", _positive),
            offsets_per_task_max=_maybe(options, "maxRecordsPerPartition", _positive),
            fail_on_data_loss=_maybe(options, "failOnDataLoss", flag) is not False,
            isolation=_maybe(options, "isolation.level", _isolation) or settings.isolation,
            commit_group=_maybe(options, "commitGroup", _name),
        )


def flag(text: str) -> bool:
    return {"true": True, "false": False}[text.lower()]


def _limits(options: Mapping[str, str]) -> Limits:
    limits = Limits(
        offsets_max=_maybe(options, "maxOffsetsPerTrigger", _positive),
        offsets_min=_maybe(options, "minOffsetsPerTrigger", _positive),
        delay_ms_max=_milliseconds(options.get("maxTriggerDelay", "15m")),
        bytes_max=_maybe(options, "maxBytesPerTrigger", _positive),
    )
    least, most = limits.offsets_min, limits.offsets_max
    if least is not None and most is not None and least > most:
        raise OptionError(f"minOffsetsPerTrigger ({least}) is higher than maxOffsetsPerTrigger ({most})")
    return limits


def _retries(options: Mapping[str, str]) -> Retries:
    age = _maybe(options, "partition.metadata.cache.ttl.ms", int)
    if age is not None and age != -1 and age <= 0:
        raise OptionError("partition.metadata.cache.ttl.ms is a positive number of milliseconds, or -1 for no cache")
    attempts = _maybe(options, "fetchOffset.numRetries", _positive)
    pause_ms = _maybe(options, "fetchOffset.retryIntervalMs", _not_negative)
    return Retries(3 if attempts is None else attempts, 1000 if pause_ms is None else pause_ms, age or -1)


def _maybe(options: Mapping[str, str], name: str, parse: Callable[[str], T]) -> T | None:
    if name not in options:
        return None
    text = options[name].strip()
    try:
        return parse(text)
    except (KeyError, ValueError):
        raise OptionError(f"the option {name} cannot be {text!r}") from None


def _positive(text: str) -> int:
    number = int(text)
    if number <= 0:
        raise ValueError(text)
    return number


def _not_negative(text: str) -> int:
    number = int(text)
    if number < 0:
        raise ValueError(text)
    return number


def _isolation(text: str) -> str:
    if text.lower() not in ISOLATION_LEVELS:
        raise ValueError(text)
    return text.lower()


def _name(text: str) -> str:
    if not text:
        raise ValueError(text)
    return text


def _milliseconds(text: str) -> int:
    """A duration as Spark writes it: `15m`, `5s`, `500ms`; a number alone is milliseconds."""
    found = _DURATION.fullmatch(text.strip().lower())
    if found is None or (found[2] or "ms") not in _UNITS_MS:
        raise OptionError(f"maxTriggerDelay cannot be {text!r}: give a duration such as 5s, 15m or 1h")
    return int(int(found[1]) * _UNITS_MS[found[2] or "ms"])
