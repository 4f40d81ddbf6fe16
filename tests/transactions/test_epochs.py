"""Where the epochs of a producer id are used up: somebody goes on under another id, and nobody is locked out."""

from __future__ import annotations

import pytest

from penstock.core.base.errors import ErrorCode
from penstock.core.transactions.metadata import EPOCH_MAX, Producer
from penstock.core.transactions.states import State
from tests.transactions.table import IDS_FROM, Table, given

LAST = EPOCH_MAX - 1
"""The last epoch that a producer is ever given."""


def test_a_producer_that_begins_anew_gets_another_id() -> None:
    table = Table()
    used_up = table.place(producer_epoch=LAST)
    assert given(table.init()) == (IDS_FROM, 0)
    assert table.init(used_up).error_code == ErrorCode.PRODUCER_FENCED


def test_one_that_comes_back_and_asks_again_hears_the_same() -> None:
    table = Table()
    used_up = table.place(producer_epoch=LAST)
    assert given(table.init(used_up)) == (IDS_FROM, 0)
    assert given(table.init(used_up)) == (IDS_FROM, 0)


@pytest.mark.parametrize("committed", [True, False])
def test_the_end_of_a_transaction_brings_another_id(committed: bool) -> None:
    table = Table()
    last = table.place(producer_epoch=LAST)
    assert table.add(last) is ErrorCode.NONE
    heir = given(table.end(last, committed))
    assert heir == (IDS_FROM, 0)
    assert table.add(heir) is ErrorCode.CONCURRENT_TRANSACTIONS, "its partitions have not heard of it"
    due = table.markers_written()
    assert (due.producer_id, due.producer_epoch) == (last.id, EPOCH_MAX), "they know the old id, and fence it"
    assert table.known.producer == heir
    assert given(table.end(last, committed)) == heir, "repeated, as its answer may be lost"
    assert table.end(last, not committed).error_code == ErrorCode.INVALID_TXN_STATE
    assert table.add(heir) is ErrorCode.NONE
    assert table.end(last, committed).error_code == ErrorCode.INVALID_PRODUCER_ID_MAPPING


def test_one_that_is_fenced_in_its_last_epoch_goes_on_under_another_id() -> None:
    table = Table()
    last = table.place(producer_epoch=LAST)
    assert table.add(last) is ErrorCode.NONE
    assert table.init().error_code == ErrorCode.CONCURRENT_TRANSACTIONS
    assert (table.markers_written().producer_epoch, table.known.state) == (EPOCH_MAX, State.COMPLETE_ABORT)
    heir = given(table.init())
    assert heir == (IDS_FROM, 1)
    assert table.end(last).error_code == ErrorCode.INVALID_PRODUCER_ID_MAPPING
    assert table.add(heir) is ErrorCode.NONE


@pytest.mark.parametrize("version", [0, 1])
def test_before_the_second_protocol_too(version: int) -> None:
    table = Table(version)
    last = table.place(producer_epoch=LAST)
    assert table.add(last) is ErrorCode.NONE
    assert table.init().error_code == ErrorCode.CONCURRENT_TRANSACTIONS
    assert table.markers_written().producer_epoch == EPOCH_MAX
    assert table.known.producer == Producer(last.id, EPOCH_MAX)
    assert given(table.init()) == (IDS_FROM, 0)


def test_a_transaction_that_takes_too_long_in_the_last_epoch_is_aborted() -> None:
    table = Table()
    last = table.place(producer_epoch=LAST)
    assert table.add(last) is ErrorCode.NONE
    table.pass_time(60_001)
    assert table.markers_written().committed is False
    assert table.end(last).error_code == ErrorCode.INVALID_TXN_STATE
    assert given(table.end(last, False)) == (IDS_FROM, 0), "as it wanted, though its epochs are used up"
