"""Clients that push metrics of their own (KIP-714): what each was asked for, when it came last, and what it said.

When something may come, and which code it gets otherwise, is Kafka's. What came is kept until the client goes, or has
not been heard of for three of its intervals, and is told at `/metrics/full`.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Iterable
from itertools import islice
from typing import Final, NamedTuple

from penstock.core.base.errors import ErrorCode
from penstock.core.base.ports import Buffer, Steps
from penstock.core.metadata.client_metrics import ClientFacts, Subscription, Wanted, wanted
from penstock.core.node.observing.otlp import NotTelemetry, Point, points
from penstock.core.records.codecs import Codec, decompress
from penstock.core.records.errors import BodyTooLarge, CorruptBatch

INSTANCES_MAX: Final = 16_384
SERIES_PER_CLIENT_MAX: Final = 300
SERIES_MAX: Final = 50_000
"""Numbers that are kept of one client, and of all together."""
KEPT_MS_MIN: Final = 60_000
LOOKED_AT_MAX: Final = 64
INTERVALS_KEPT: Final = 3
ACCEPTED: Final = (Codec.ZSTD, Codec.LZ4, Codec.GZIP, Codec.SNAPPY)
FORGIVEN: Final = frozenset({ErrorCode.UNKNOWN_SUBSCRIPTION_ID, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE})
"""Who was told one of these asks anew at once."""
NO_ID: Final = bytes(16)
RESERVED: Final = frozenset({NO_ID, (1).to_bytes(16, "big")})

Series = tuple[str, tuple[tuple[str, str], ...]]


class Push(NamedTuple):
    """What a client sends: the subscription that it goes by, how it is compressed, and whether it is the last."""

    subscription_id: int
    codec: int
    is_last: bool
    data: Buffer


class Instance:
    """One client."""

    __slots__ = (
        "asked_ms",
        "facts",
        "heard_ms",
        "is_ending",
        "is_gone",
        "last_error",
        "numbers",
        "pushed_ms",
        "wanted",
    )

    def __init__(self, facts: ClientFacts, asked_for: Wanted) -> None:
        self.facts = facts
        self.wanted = asked_for
        self.asked_ms: int | None = None
        self.pushed_ms: int | None = None
        self.heard_ms = 0
        self.is_ending = self.is_gone = False
        self.last_error = ErrorCode.NONE
        self.numbers: dict[Series, tuple[float, bool]] = {}
        """Values, and whether they only grow."""

    def may_ask(self, now_ms: int) -> bool:
        before = max(self.asked_ms or 0, self.pushed_ms or 0)
        if (self.asked_ms is None and self.pushed_ms is None) or now_ms - before >= self.wanted.interval_ms:
            self.asked_ms = now_ms
            return True
        return False

    def may_push(self, now_ms: int) -> bool:
        """Who has just asked may, however long ago it pushed: clients spread their first pushes."""
        asked_since = self.asked_ms is not None and (self.pushed_ms is None or self.asked_ms > self.pushed_ms)
        if asked_since or self.pushed_ms is None or now_ms - self.pushed_ms >= self.wanted.interval_ms:
            self.pushed_ms = now_ms
            return True
        return False


class ClientTelemetry:
    """All clients of a node that take part."""

    def __init__(self) -> None:
        self.instances: OrderedDict[bytes, Instance] = OrderedDict()
        self._subscriptions: tuple[Subscription, ...] = ()
        self.known_configs: object = None
        """Of which configured resources these are the subscriptions."""
        self.pushes = 0
        self.refused: Counter[str] = Counter()
        """By the name of the error."""
        self._series = 0

    def subscribe(self, subscriptions: Iterable[Subscription]) -> None:
        """These are in force now; whoever is known is looked at anew when it comes next."""
        self._subscriptions = tuple(subscriptions)

    @property
    def is_wanted(self) -> bool:
        return bool(self._subscriptions)

    def meet(self, instance_id: bytes, facts: ClientFacts, now_ms: int) -> Instance:
        """The client with this id; it is a new one if something else is asked of it now."""
        instance = self.instances.get(instance_id)
        asked_for = wanted(self._subscriptions, facts if instance is None else instance.facts)
        if instance is None or instance.wanted != asked_for:
            numbers = {} if instance is None else instance.numbers
            if instance is not None:
                instance.is_gone = True
            instance = self.instances[instance_id] = Instance(facts if instance is None else instance.facts, asked_for)
            instance.numbers = numbers
        instance.heard_ms = now_ms
        self.instances.move_to_end(instance_id)
        while len(self.instances) > INSTANCES_MAX:
            self.forget(next(iter(self.instances)))
        return instance

    def forget(self, instance_id: bytes) -> None:
        """The client has gone."""
        instance = self.instances.pop(instance_id, None)
        if instance is not None:
            instance.is_gone = True
            self._series -= len(instance.numbers)

    def expire(self, now_ms: int) -> None:
        """Some of those who have not been heard of for long; the longest silent come first."""
        silent = [
            instance_id
            for instance_id, each in islice(self.instances.items(), LOOKED_AT_MAX)
            if now_ms - each.heard_ms > max(KEPT_MS_MIN, INTERVALS_KEPT * each.wanted.interval_ms)
        ]
        for instance_id in silent:
            self.forget(instance_id)

    def asks(self, instance: Instance, now_ms: int) -> ErrorCode:
        """It wants to know what it is asked for."""
        if not instance.may_ask(now_ms) and instance.last_error not in FORGIVEN:
            return self._refuse(ErrorCode.THROTTLING_QUOTA_EXCEEDED)
        instance.last_error = ErrorCode.NONE
        return ErrorCode.NONE

    def pushed(
        self, instance: Instance, push: Push, subscription_id: int, bytes_max: int, now_ms: int
    ) -> Steps[ErrorCode]:
        """It has sent something."""
        code = self._judge(instance, push, subscription_id, bytes_max, now_ms)
        instance.is_ending = push.is_last
        if code is ErrorCode.NONE and len(push.data):
            code = yield from self._take(instance, push, bytes_max)
        instance.last_error = code
        return code if code is ErrorCode.NONE else self._refuse(code)

    def _judge(self, instance: Instance, push: Push, subscription_id: int, bytes_max: int, now_ms: int) -> ErrorCode:
        if instance.is_ending:
            return ErrorCode.INVALID_REQUEST
        if not instance.may_push(now_ms) and not push.is_last:
            return ErrorCode.THROTTLING_QUOTA_EXCEEDED
        if push.subscription_id != subscription_id:
            return ErrorCode.UNKNOWN_SUBSCRIPTION_ID
        if push.codec not in (Codec.NONE, *ACCEPTED):
            return ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
        return ErrorCode.TELEMETRY_TOO_LARGE if len(push.data) > bytes_max else ErrorCode.NONE

    def _take(self, instance: Instance, push: Push, bytes_max: int) -> Steps[ErrorCode]:
        try:
            found = yield from points(memoryview(decompress(push.codec, push.data, bytes_max)))
        except BodyTooLarge:
            return ErrorCode.TELEMETRY_TOO_LARGE
        except (CorruptBatch, NotTelemetry):
            return ErrorCode.INVALID_RECORD
        self.pushes += 1
        if not instance.is_gone:
            for point in found:
                self._keep(instance, point)
        return ErrorCode.NONE

    def _keep(self, instance: Instance, point: Point) -> None:
        numbers, key = instance.numbers, (point.name, point.labels)
        before = numbers.get(key)
        if before is None:
            if len(numbers) >= SERIES_PER_CLIENT_MAX or self._series >= SERIES_MAX:
                return
            self._series += 1
        is_added = point.is_delta and before is not None
        numbers[key] = (point.value + (before[0] if is_added and before else 0), point.is_counter)

    def _refuse(self, code: ErrorCode) -> ErrorCode:
        self.refused[code.name] += 1
        return code
