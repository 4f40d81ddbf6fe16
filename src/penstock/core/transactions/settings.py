"""What an operator may tune about transactions, with Kafka's defaults."""

from __future__ import annotations

from penstock.core.base.values import frozen

_MINUTE_MS = 60_000
_DAY_MS = 24 * 60 * _MINUTE_MS


@frozen
class TransactionSettings:
    """Each field carries the value of the broker key named beside it."""

    timeout_ms_max: int = 15 * _MINUTE_MS  # transaction.max.timeout.ms
    id_expiration_ms: int = 7 * _DAY_MS  # transactional.id.expiration.ms
    abort_interval_ms: int = 10_000  # transaction.abort.timed.out.transaction.cleanup.interval.ms
    expire_interval_ms: int = 60 * _MINUTE_MS  # transaction.remove.expired.transaction.cleanup.interval.ms
    two_phase: bool = False  # transaction.two.phase.commit.enable
    # Not a broker key: a round over all ids looks at so many before others get their turn.
    looks_per_turn_max: int = 500
