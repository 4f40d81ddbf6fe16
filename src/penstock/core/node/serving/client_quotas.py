"""Kafka's client quotas at this node: bytes produced and fetched, a share of its time, changes asked of a controller.

What has come counts at once, and whoever is over its quota is told how long to rest, and not listened to for as long.
Nothing is refused, but for changes of the cluster, where clients know a code for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Protocol

from penstock.core.base.quotas import FETCH, IP, MUTATION, PRODUCE, REQUEST, QuotaEntity
from penstock.core.base.settings import BrokerSettings
from penstock.core.node.serving.context import RequestContext
from penstock.core.node.serving.gates import Asked
from penstock.core.quotas.meters import Meters
from penstock.core.quotas.rate import MS_PER_S, Rate, Windows
from penstock.core.quotas.token_bucket import TokenBucket
from penstock.core.wire.registry import api_key

PRODUCE_KEY: Final = api_key("Produce")
PERCENT: Final = 100
US_PER_MS: Final = 1000

Quotas = Mapping[QuotaEntity, Mapping[str, float]]


class Clock(Protocol):
    """The clock that nobody can set."""

    @property
    def now_us(self) -> int: ...


class QuotaHost(Clock, Protocol):
    """The node whose clients these are."""

    @property
    def settings(self) -> BrokerSettings: ...


class RateMeter:
    """A rate and what it may be."""

    __slots__ = ("limit", "rate")

    def __init__(self, limit: float, windows: Windows) -> None:
        self.limit = limit
        self.rate = Rate(windows)

    def rest_ms(self, now_ms: int) -> int:
        return self.rate.rest_ms(self.limit, now_ms)


class MutationQuota:
    """What one client may ask of the controller: so many changes of partitions a second, and some at once."""

    def __init__(self, clock: Clock, bucket: TokenBucket) -> None:
        self._clock = clock
        self._bucket = bucket
        self.rest_ms = 0
        """How long its client is to rest."""

    def take(self, changes: int, *, strict: bool) -> bool:
        """Whether so many may be made. A client that knows no code for a refusal is served, and rests afterwards."""
        now_ms = self._clock.now_us // US_PER_MS
        owed_ms = self._bucket.rest_ms(now_ms)
        if owed_ms and strict:
            self.rest_ms = max(self.rest_ms, owed_ms)
            return False
        self._bucket.take(changes, now_ms)
        if not strict:
            self.rest_ms = self._bucket.rest_ms(now_ms)
        return True


class ClientQuotaManager:
    """The quota manager of a node whose metadata has quotas."""

    def __init__(self, clock: Clock, settings: BrokerSettings) -> None:
        self._clock = clock
        samples, size_s = settings["quota.window.num"], settings["quota.window.size.seconds"]
        self._windows = windows = Windows(samples, size_s * MS_PER_S)
        burst_s = settings["controller.quota.window.num"] * settings["controller.quota.window.size.seconds"]
        self._produce = Meters(lambda limit: RateMeter(limit, windows))
        self._fetch = Meters(lambda limit: RateMeter(limit, windows))
        self._time = Meters(lambda limit: RateMeter(limit, windows))
        self._mutations = Meters(lambda limit: TokenBucket(limit, burst_s, self._now_ms))
        # Who was served in this turn: they share the time it took.
        self._served: list[RateMeter] = []

    def update(self, quotas: Quotas) -> None:
        """There is another image."""
        of_clients = {entity: values for entity, values in quotas.items() if entity[0][0] != IP}
        self._produce.update(of_clients, PRODUCE)
        self._fetch.update(of_clients, FETCH)
        self._time.update(of_clients, REQUEST)
        self._mutations.update(of_clients, MUTATION)

    def throttle_ms(self, context: RequestContext, api: Asked, size_bytes: int) -> int:
        user, client_id, now_ms = context.principal.name, context.client_id or "", self._now_ms
        rest_ms = 0
        if api.key == PRODUCE_KEY and self._produce and (meter := self._produce.of(user, client_id)):
            meter.rate.record(size_bytes, now_ms)
            rest_ms = meter.rest_ms(now_ms)
        if self._time and (meter := self._time.of(user, client_id)):
            self._served.append(meter)
            # At most one window, as for Kafka: who was slow once is heard again soon.
            rest_ms = max(rest_ms, min(meter.rest_ms(now_ms), self._windows.size_ms))
        return rest_ms

    def turn_took(self, elapsed_us: int) -> None:
        """A turn ends; those who were served in it share its time."""
        served, self._served = self._served, []
        for meter in served:
            meter.rate.record(PERCENT * elapsed_us / len(served) / (MS_PER_S * US_PER_MS), self._now_ms)

    def fetched_ms(self, context: RequestContext, size_bytes: int) -> int:
        """A client is given so many bytes; gives how long it is to rest after them."""
        meter = self._fetch_meter(context)
        if meter is None:
            return 0
        meter.rate.record(size_bytes, self._now_ms)
        return meter.rest_ms(self._now_ms)

    def fetch_bytes_max(self, context: RequestContext, bytes_max: int) -> int:
        """No answer takes more than a client may have within all windows."""
        meter = self._fetch_meter(context)
        if meter is None:
            return bytes_max
        windows = self._windows
        return min(bytes_max, int(meter.limit * max(windows.samples - 1, 1) * windows.size_ms / MS_PER_S))

    def mutation_quota(self, context: RequestContext) -> MutationQuota | None:
        """What limits the changes that a client asks for, if anything does."""
        bucket = self._mutations.of(context.principal.name, context.client_id or "") if self._mutations else None
        return None if bucket is None else MutationQuota(self._clock, bucket)

    def _fetch_meter(self, context: RequestContext) -> RateMeter | None:
        return self._fetch.of(context.principal.name, context.client_id or "") if self._fetch else None

    @property
    def _now_ms(self) -> int:
        return self._clock.now_us // US_PER_MS
