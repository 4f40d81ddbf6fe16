"""DescribeTransactions and ListTransactions: what there is, as clients are told."""

from __future__ import annotations

from collections.abc import Iterable

from penstock.core.base.errors import ErrorCode
from penstock.core.base.patterns.pattern import Pattern
from penstock.core.base.ports import Steps
from penstock.core.base.values import frozen
from penstock.core.transactions.metadata import TransactionMetadata
from penstock.core.transactions.states import BY_NAME, NAMES, State
from penstock.core.transactions.table import TransactionTable
from penstock.core.wire.api import describe_transactions, list_transactions
from penstock.core.wire.api.list_transactions import ListTransactionsRequest


def described(table: TransactionTable, transactional_id: str) -> describe_transactions.TransactionState:
    known = table.get(transactional_id)
    if known is None:
        code = ErrorCode.TRANSACTIONAL_ID_NOT_FOUND if transactional_id else ErrorCode.INVALID_REQUEST
        return describe_transactions.TransactionState(transactional_id=transactional_id, error_code=code)
    topics: dict[str, list[int]] = {}
    for topic, index in known.partitions:
        topics.setdefault(topic, []).append(index)
    return describe_transactions.TransactionState(
        transactional_id=transactional_id,
        transaction_state=NAMES[known.state],
        transaction_timeout_ms=known.timeout_ms,
        transaction_start_time_ms=known.started_ms,
        producer_id=known.producer_id,
        producer_epoch=known.producer_epoch,
        topics=[describe_transactions.TopicData(topic=topic, partitions=found) for topic, found in topics.items()],
    )


@frozen
class Filter:
    """What a ListTransactions asks for; whatever it does not say lets everything through."""

    states: frozenset[State] | None
    producer_ids: frozenset[int]
    older_than_ms: int
    pattern: Pattern | None
    """All of an id has to match it."""

    def takes(self, each: TransactionMetadata, now_ms: int) -> Steps[bool]:
        if self.producer_ids and each.producer_id not in self.producer_ids:
            return False
        if self.states is not None and each.state not in self.states:
            return False
        if self.older_than_ms >= 0 and now_ms - each.started_ms <= self.older_than_ms:
            return False
        if self.pattern is None:
            return True
        return (yield from self.pattern.matches(each.transactional_id))


def filter_of(request: ListTransactionsRequest) -> Filter:
    """Raises InvalidPattern."""
    states = frozenset(BY_NAME[name] for name in request.state_filters if name in BY_NAME)
    return Filter(
        states if request.state_filters else None,
        frozenset(request.producer_id_filters),
        request.duration_filter,
        Pattern(request.transactional_id_pattern) if request.transactional_id_pattern else None,
    )


def unknown_states(request: ListTransactionsRequest) -> list[str]:
    return [name for name in dict.fromkeys(request.state_filters) if name not in BY_NAME]


def listed(
    table: TransactionTable, names: Iterable[str], wanted: Filter, now_ms: int
) -> Steps[list[list_transactions.TransactionState]]:
    """Those of these ids that are asked for."""
    found = []
    for each in filter(None, map(table.get, names)):
        if (yield from wanted.takes(each, now_ms)):
            state = list_transactions.TransactionState(
                transactional_id=each.transactional_id,
                producer_id=each.producer_id,
                transaction_state=NAMES[each.state],
            )
            found.append(state)
    return found
