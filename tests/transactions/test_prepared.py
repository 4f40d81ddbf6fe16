"""Two-phase commit (KIP-939): what an outside coordinator has prepared waits for it, and only for it."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.core.base.errors import ErrorCode
from penstock.core.transactions.metadata import EPOCH_MAX, NO_TIMEOUT_MS, Producer
from penstock.core.transactions.states import State
from tests.transactions.table import IDS_FROM, Table, given

DAY_MS = 24 * 3_600_000
NONE = ErrorCode.NONE


def prepared(table: Table, **fields: Any) -> Producer:
    """A producer with an open transaction, all of which is flushed."""
    producer = given(table.init(**fields))
    assert table.add(producer) is NONE
    return producer


def ongoing(answer: Any) -> Producer:
    return Producer(answer.ongoing_txn_producer_id, answer.ongoing_txn_producer_epoch)


def test_it_has_no_timeout() -> None:
    table = Table(two_phase=True)
    prepared(table, enable2_pc=True, transaction_timeout_ms=-1)
    table.pass_time(30 * DAY_MS)
    assert (table.known.state, table.known.timeout_ms) == (State.ONGOING, NO_TIMEOUT_MS)


def test_whoever_begins_anew_ends_it() -> None:
    table = Table(two_phase=True)
    first = prepared(table, enable2_pc=True)
    assert table.init(enable2_pc=True).error_code == ErrorCode.CONCURRENT_TRANSACTIONS
    assert table.markers_written().committed is False
    assert given(table.init(enable2_pc=True)).epoch == first.epoch + 2


@pytest.mark.parametrize("version", [4, 5])
@pytest.mark.parametrize("committed", [True, False])
def test_another_instance_takes_it_over_and_ends_it(committed: bool, version: int) -> None:
    table = Table(two_phase=True)
    first = prepared(table, enable2_pc=True)
    answer = table.init(enable2_pc=True, keep_prepared_txn=True)
    heir = given(answer)
    assert (ongoing(answer), heir) == (first, Producer(first.id, first.epoch + 1))
    assert table.end(first, True, version).error_code == ErrorCode.PRODUCER_FENCED
    assert table.add(first) is ErrorCode.PRODUCER_FENCED
    assert table.add(heir) is ErrorCode.INVALID_TXN_STATE, "it is to be ended as it is"
    given_next = table.end(heir, committed, version)
    assert given_next.error_code == 0
    due = table.markers_written()
    assert (due.producer_id, due.committed) == (first.id, committed)
    assert due.producer_epoch > first.epoch, "its partitions let the first one write no more"
    assert table.end(heir, committed, version).error_code == 0, "repeated"
    assert table.end(heir, not committed, version).error_code == ErrorCode.INVALID_TXN_STATE
    assert table.add(table.known.producer) is NONE, "and the next one begins"


def test_taken_over_again_and_again_it_is_still_the_same_transaction() -> None:
    table = Table(two_phase=True)
    first = prepared(table, enable2_pc=True)
    heirs = [table.init(enable2_pc=True, keep_prepared_txn=True) for _ in range(3)]
    assert [ongoing(each) for each in heirs] == [first] * 3
    assert [given(each).epoch for each in heirs] == [1, 2, 3]
    assert table.end(given(heirs[1])).error_code == ErrorCode.PRODUCER_FENCED
    assert table.end(given(heirs[2])).error_code == 0


def test_where_the_epochs_are_used_up_the_heir_has_another_id() -> None:
    table = Table(two_phase=True)
    last = table.place(producer_epoch=EPOCH_MAX - 1, timeout_ms=NO_TIMEOUT_MS)
    assert table.add(last) is NONE
    answer = table.init(enable2_pc=True, keep_prepared_txn=True)
    heir = given(answer)
    assert (ongoing(answer), heir) == (last, (IDS_FROM, 0))
    following = given(table.end(heir))
    assert following == (IDS_FROM, 1)
    due = table.markers_written()
    assert (due.producer_id, due.producer_epoch) == (last.id, EPOCH_MAX)
    assert given(table.end(heir)) == following
    assert table.known.producer == following


def test_where_nothing_is_open_nothing_is_kept() -> None:
    table = Table(two_phase=True)
    answer = table.init(enable2_pc=True, keep_prepared_txn=True)
    assert (given(answer).epoch, ongoing(answer)) == (0, (-1, -1))


def test_what_is_decided_already_is_waited_for() -> None:
    table = Table(two_phase=True)
    producer = prepared(table, enable2_pc=True)
    assert table.end(producer).error_code == 0
    assert table.init(enable2_pc=True, keep_prepared_txn=True).error_code == ErrorCode.CONCURRENT_TRANSACTIONS
    table.markers_written()
    assert ongoing(table.init(enable2_pc=True, keep_prepared_txn=True)) == (-1, -1)


def test_a_writers_timeout_holds_until_somebody_lifts_it() -> None:
    """Tasks write with an ordinary timeout; what nobody knows of ends by itself, what is recorded waits."""
    table = Table(two_phase=True)
    prepared(table)
    assert table.init(enable2_pc=True, keep_prepared_txn=True).error_code == 0
    table.pass_time(DAY_MS)
    assert table.known.state is State.ONGOING
    orphan = Table(two_phase=True)
    prepared(orphan)
    orphan.pass_time(60_001)
    assert orphan.known.state is State.PREPARE_ABORT


def test_an_heir_with_a_timeout_has_all_of_it() -> None:
    table = Table(two_phase=True)
    prepared(table, enable2_pc=True)
    table.pass_time(DAY_MS)
    heir = given(table.init(keep_prepared_txn=True))
    table.pass_time(59_999)
    assert table.known.state is State.ONGOING
    table.pass_time(2)
    assert table.known.state is State.PREPARE_ABORT
    table.markers_written()
    assert table.end(heir).error_code == ErrorCode.INVALID_TXN_STATE


def test_it_never_expires_while_it_is_open() -> None:
    table = Table(two_phase=True)
    producer = prepared(table, enable2_pc=True)
    table.pass_time(30 * DAY_MS)
    assert table.end(producer).error_code == 0
    table.markers_written()
    table.pass_time(8 * DAY_MS)
    assert "tx" not in table.shard.table


@pytest.mark.parametrize("transaction_version", [0, 1])
def test_before_the_second_protocol_too(transaction_version: int) -> None:
    table = Table(transaction_version, two_phase=True)
    first = prepared(table, enable2_pc=True)
    heir = given(table.init(enable2_pc=True, keep_prepared_txn=True))
    assert table.end(first, True, 4).error_code == ErrorCode.PRODUCER_FENCED
    assert table.end(heir, True, 4).error_code == 0
    assert table.markers_written().producer_epoch == heir.epoch
    assert table.known.producer == heir
