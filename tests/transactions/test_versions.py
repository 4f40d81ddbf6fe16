"""`transaction.version` changes while a transaction is open: it ends once, and what comes late is fenced."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import pytest

from penstock.core.base.errors import ErrorCode
from penstock.core.transactions.metadata import Producer
from penstock.core.transactions.records import transaction_record
from penstock.core.transactions.states import State
from tests.transactions.table import NAME, Table, given

LEVELS: Final = (0, 1, 2)
CONCURRENT = ErrorCode.CONCURRENT_TRANSACTIONS


def _by_client(version: int) -> Callable[[Table, Producer], None]:
    def end(table: Table, producer: Producer) -> None:
        assert table.end(producer, False, version).error_code == 0

    return end


def _by_successor(table: Table, producer: Producer) -> None:
    assert table.init().error_code == CONCURRENT


def _by_timeout(table: Table, producer: Producer) -> None:
    table.pass_time(60_001)


ENDS: Final = {
    "client of the first protocol": _by_client(4),
    "client of the second protocol": _by_client(5),
    "successor": _by_successor,
    "timeout": _by_timeout,
}


def restarted(table: Table) -> Table:
    """The next process, which has nothing but the log."""
    after = Table(table.transaction_version)
    after.now_ms = table.now_ms
    after.shard.replay(*transaction_record(table.known, table.transaction_version), table.now_ms)
    after.due = table.due
    return after


@pytest.mark.parametrize("how", ENDS)
@pytest.mark.parametrize("later", LEVELS)
@pytest.mark.parametrize("first", LEVELS)
def test_an_open_transaction_ends_whatever_the_level_is_by_then(first: int, later: int, how: str) -> None:
    table = Table(first)
    producer = given(table.init())
    assert table.add(producer) is ErrorCode.NONE
    table.transaction_version = later
    table = restarted(table)
    ENDS[how](table, producer)
    table.transaction_version = first
    due = restarted(table).markers_written()
    assert (due.producer_id, due.committed, due.partitions) == (producer.id, False, (("t", 0),))
    keeps_epoch = how == "client of the first protocol"
    assert due.producer_epoch == producer.epoch + (not keeps_epoch)
    if due.transaction_version >= 2:
        assert due.producer_epoch > producer.epoch, "partitions refuse a marker that bumps nothing"


@pytest.mark.parametrize("later", LEVELS)
@pytest.mark.parametrize("first", LEVELS)
def test_the_next_one_begins_at_the_new_level(first: int, later: int) -> None:
    table = Table(first)
    producer = given(table.init())
    for level, version in ((first, 4), (later, 5), (first, 5), (later, 4)):
        table.transaction_version = level
        assert table.add(producer) is ErrorCode.NONE
        answer = table.end(producer, True, version)
        assert answer.error_code == 0
        table.markers_written()
        if version >= 5:
            assert given(answer).epoch == producer.epoch + 1
            producer = given(answer)
        assert (table.known.state, table.known.producer) == (State.COMPLETE_COMMIT, producer)
    assert NAME in table.shard.table
