"""One kind of quota: what is measured of each client, or of those who share one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, Generic, Protocol, TypeVar

from penstock.core.base.quotas import QuotaEntity
from penstock.core.quotas.entities import Limits, Sharing, find

METERS_MAX: Final = 10_000
"""Clients that are measured at once. A client may have as many names as it likes; those known longest are forgotten."""


class Limited(Protocol):
    """A rate or a bucket that knows its limit."""

    limit: float


M = TypeVar("M", bound=Limited)


class Meters(Generic[M]):
    """By whom they measure. A meter outlasts changes of its limit."""

    def __init__(self, make: Callable[[float], M]) -> None:
        self._make = make
        self._limits: Limits = {}
        self._of_client: dict[tuple[str, str], M | None] = {}
        self._meters: dict[Sharing, M] = {}

    def update(self, quotas: Mapping[QuotaEntity, Mapping[str, float]], key: str) -> None:
        limits = {entity: values[key] for entity, values in quotas.items() if key in values}
        if limits != self._limits:
            self._limits = limits
            self._of_client.clear()
        if not limits:
            self._meters.clear()

    def __bool__(self) -> bool:
        """Whether anybody has such a quota."""
        return bool(self._limits)

    def of(self, user: str, client_id: str) -> M | None:
        """What measures a client; None: nothing limits it."""
        client = (user, client_id)
        if client not in self._of_client:
            if len(self._of_client) >= METERS_MAX:
                self._of_client.clear()
            self._of_client[client] = self._find(user, client_id)
        return self._of_client[client]

    def _find(self, user: str, client_id: str) -> M | None:
        found = find(self._limits, user, client_id)
        if found is None:
            return None
        sharing, limit = found
        meter = self._meters.get(sharing)
        if meter is None:
            if len(self._meters) >= METERS_MAX:
                del self._meters[next(iter(self._meters))]
            meter = self._meters[sharing] = self._make(limit)
        meter.limit = limit
        return meter
