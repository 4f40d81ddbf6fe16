"""A reader of committed records is told which transactions were aborted in what it gets."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.core.partition.readers import ISOLATION_COMMITTED
from penstock.core.records.batch import read_header
from penstock.core.records.build import build_batch
from penstock.core.records.control import EndTransaction, build_end_transaction
from tests.node.world import World, fetch, found_in

V = 11


def write(world: World, batch: bytearray) -> None:
    """As a log of Kafka's has it: nobody here would take a transaction from a producer."""
    partition = world.node.replicas.get("t", 0)
    assert partition is not None
    world.turn(lambda: partition.append_own(batch, read_header(batch), world.node.now_ms))


def transact(world: World, producer: int, committed: bool) -> None:
    records = [(None, b"value", (), 0)]
    write(world, build_batch(records, producer_id=producer, producer_epoch=0, base_sequence=0, transactional=True))
    write(world, build_end_transaction(EndTransaction(committed, 0), producer, 0, 0))


def aborted_from(world: World, offset: int, **changes: Any) -> list[tuple[int, int]] | None:
    request = fetch({("t", 0): offset}, max_wait_ms=100)
    for name, value in ({"isolation_level": ISOLATION_COMMITTED} | changes).items():
        setattr(request, name, value)
    told = found_in(world.client().ask(request, V))["t", 0].aborted_transactions
    return None if told is None else [(each.producer_id, each.first_offset) for each in told]


@pytest.fixture
def world() -> World:
    world = World()
    world.create("t")
    transact(world, 1, committed=True)
    transact(world, 2, committed=False)
    transact(world, 3, committed=False)
    return world


@pytest.mark.parametrize("restarted", [False, True])
def test_aborted_transactions_are_named(world: World, restarted: bool) -> None:
    if restarted:
        # Now the index is on the disk, and nothing of it in memory.
        world.restart()
    assert aborted_from(world, 0) == [(2, 2), (3, 4)]
    assert aborted_from(world, 3) == [(2, 2), (3, 4)], "its marker is still to come"
    assert aborted_from(world, 4) == [(3, 4)]


def test_others_hear_of_none(world: World) -> None:
    assert aborted_from(world, 0, isolation_level=0) is None
    world.create("quiet")
    transact(world, 1, committed=True)
    assert aborted_from(world, 6) == []
