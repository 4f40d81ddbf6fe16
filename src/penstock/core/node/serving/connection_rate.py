"""How many connections a second are let in: of one address by its quota, of all by `max.connection.creation.rate`."""

from __future__ import annotations

from penstock.core.base.quotas import CONNECTION, IP
from penstock.core.base.settings import BrokerSettings
from penstock.core.node.serving.client_quotas import US_PER_MS, Clock, Quotas
from penstock.core.node.serving.limits import UNLIMITED
from penstock.core.quotas.meters import METERS_MAX
from penstock.core.quotas.rate import MS_PER_S, Rate, Windows


class ConnectionRate:
    """Measures over the windows of quotas. What is refused does not count: it may come again at once and is refused
    again, until what was let in is long enough ago."""

    def __init__(self, clock: Clock, settings: BrokerSettings) -> None:
        self._clock = clock
        self._windows = Windows(settings["quota.window.num"], settings["quota.window.size.seconds"] * MS_PER_S)
        self._all = Rate(self._windows)
        self._by_address: dict[str, Rate] = {}
        self._quotas: dict[str | None, float] = {}

    def update(self, quotas: Quotas) -> None:
        self._quotas = {
            entity[0][1]: values[CONNECTION]
            for entity, values in quotas.items()
            if entity[0][0] == IP and CONNECTION in values
        }
        if not self._quotas:
            self._by_address.clear()

    def admits(self, host: str, all_max: int) -> bool:
        """Whether one more is let in now; it counts if so."""
        now_ms = self._clock.now_us // US_PER_MS
        limit = self._quotas.get(host, self._quotas.get(None)) if self._quotas else None
        own = None if limit is None else self._of(host)
        if own is not None and limit is not None and own.rest_ms(limit, now_ms):
            return False
        if all_max < UNLIMITED:
            if all_max == 0 or self._all.rest_ms(all_max, now_ms):
                return False
            self._all.record(1, now_ms)
        if own is not None:
            own.record(1, now_ms)
        return True

    def _of(self, host: str) -> Rate:
        if host not in self._by_address and len(self._by_address) >= METERS_MAX:
            del self._by_address[next(iter(self._by_address))]
        return self._by_address.setdefault(host, Rate(self._windows))
