"""Transactions from outside, as their coordinators know them: which there are, what belongs to one, ending one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from penstock.client.blocking import TRANSACTION, Client
from penstock.client.errors import check
from penstock.client.everybody import Silent, ask_everybody
from penstock.client.metadata import TopicPartition
from penstock.core.wire.api.describe_transactions import DescribeTransactionsRequest, DescribeTransactionsResponse
from penstock.core.wire.api.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from penstock.core.wire.api.list_transactions import ListTransactionsRequest, ListTransactionsResponse

ANY_AGE: Final = -1
FENCING_TIMEOUT_MS: Final = 1_000
"""Nothing is written by who only fences; any broker allows this little."""
NO_TIMEOUT_MS: Final = 2**31 - 1
"""What is told of a transaction that waits for an outside coordinator."""
_OPEN: Final = frozenset({"Ongoing", "PrepareCommit", "PrepareAbort"})


class Listed(NamedTuple):
    """A transactional id, and in which state its transaction is."""

    transactional_id: str
    state: str
    producer_id: int
    coordinator: int


class Described(NamedTuple):
    """What a coordinator knows of a transactional id."""

    transactional_id: str
    state: str
    producer_id: int
    producer_epoch: int
    timeout_ms: int | None
    """None where an outside coordinator ends it."""
    started_ms: int | None
    coordinator: int
    partitions: tuple[TopicPartition, ...]

    @property
    def is_open(self) -> bool:
        """Whether there is a transaction that has not ended in all of its partitions."""
        return self.state in _OPEN


class Transactions:
    """Requests about transactional ids."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def list(
        self, states: Sequence[str] = (), producer_ids: Sequence[int] = (), older_than_ms: int = ANY_AGE
    ) -> list[Listed]:
        """The transactional ids of every broker, as `known` filters them."""
        found, silent = self.known(states, producer_ids, older_than_ms)
        silent.refuse()
        return [*found]

    def known(
        self, states: Sequence[str] = (), producer_ids: Sequence[int] = (), older_than_ms: int = ANY_AGE
    ) -> tuple[Sequence[Listed], Silent]:
        """The transactional ids of those brokers that answer, by name, and who does not: those in one of some
        states, with one of some producer ids, or whose transaction has been open for longer."""
        request = ListTransactionsRequest(
            state_filters=list(states), producer_id_filters=list(producer_ids), duration_filter=older_than_ms
        )
        answers, silent = ask_everybody(self._client, lambda node: self._list_at(node, request))
        found = {
            each.transactional_id: Listed(each.transactional_id, each.transaction_state, each.producer_id, node)
            for node, answer in answers.items()
            for each in answer.transaction_states
        }
        return sorted(found.values()), silent

    def _list_at(self, node: int, request: ListTransactionsRequest) -> ListTransactionsResponse:
        answer = self._client.ask(request, ListTransactionsResponse, node=node)
        check(answer.error_code, f"the transactions of broker {node}")
        return answer

    def describe(self, transactional_id: str) -> Described:
        """Raises TRANSACTIONAL_ID_NOT_FOUND where there is none."""

        def attempt() -> Described:
            node = self._client.coordinator(transactional_id, TRANSACTION)
            request = DescribeTransactionsRequest(transactional_ids=[transactional_id])
            (found,) = self._client.ask(request, DescribeTransactionsResponse, node=node).transaction_states
            check(found.error_code, f"transactional id {transactional_id}")
            return Described(
                transactional_id,
                found.transaction_state,
                found.producer_id,
                found.producer_epoch,
                None if found.transaction_timeout_ms == NO_TIMEOUT_MS else found.transaction_timeout_ms,
                found.transaction_start_time_ms if found.transaction_start_time_ms >= 0 else None,
                node,
                tuple(
                    sorted(TopicPartition(each.topic, number) for each in found.topics for number in each.partitions)
                ),
            )

        return self._client.retry(attempt)

    def terminate(self, known: Described) -> None:
        """Abort the open transaction of an id, and fence its producer: what a successor under this id would do."""
        name = known.transactional_id
        request = InitProducerIdRequest(transactional_id=name, transaction_timeout_ms=FENCING_TIMEOUT_MS)

        def attempt() -> None:
            node = self._client.coordinator(name, TRANSACTION)
            answer = self._client.ask(request, InitProducerIdResponse, node=node)
            check(answer.error_code, f"transactional id {name}")

        self._client.retry(attempt)
