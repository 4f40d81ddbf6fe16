"""Waking and reading go by one rule: nobody is woken for what it may not see, and everybody for what it may."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.core.partition.partition import Partition
from penstock.core.partition.readers import COMMITTED, ISOLATION_COMMITTED, Reader
from penstock.core.records.batch import read_header
from penstock.core.records.build import build_batch
from penstock.core.records.control import EndTransaction, build_end_transaction
from tests.node.world import Client, World, fetch, found_in

V = 11


def write(world: World, batch: bytearray) -> None:
    """As a log of Kafka's has it: nobody here would take a transaction from a producer."""
    partition = world.node.replicas.get("t", 0)
    assert partition is not None
    world.turn(lambda: partition.append_own(batch, read_header(batch), world.node.now_ms))


def begin(world: World) -> None:
    records = [(None, b"value", (), 0)]
    write(world, build_batch(records, producer_id=1, producer_epoch=0, base_sequence=0, transactional=True))


def end(world: World) -> None:
    write(world, build_end_transaction(EndTransaction(True, 0), 1, 0, 0))


def asking(offset: int, isolation: int, wait_ms: int = 500, session: tuple[int, int] = (0, -1)) -> Any:
    request = fetch({("t", 0): offset}, max_wait_ms=wait_ms, session=session)
    request.isolation_level = isolation
    return request


@pytest.fixture
def world() -> World:
    world = World()
    world.create("t")
    return world


@pytest.mark.parametrize("session", [(0, -1), (0, 0)])
def test_an_open_transaction_wakes_nobody_who_may_not_see_it(world: World, session: tuple[int, int]) -> None:
    careful, careless = world.client(), world.client()
    careful.send(asking(0, ISOLATION_COMMITTED, session=session), V)
    careless.send(asking(0, 0, session=session), V)
    begin(world)
    assert careful.replies() == []
    assert records_in(careless)
    end(world)
    assert records_in(careful)


def test_who_may_not_see_an_open_transaction_waits_to_the_end_of_its_time(world: World) -> None:
    client = world.client()
    client.send(asking(0, ISOLATION_COMMITTED), V)
    begin(world)
    world.pass_time(499)
    assert client.replies() == []
    world.pass_time(1)
    assert not records_in(client)


def test_a_session_that_asks_to_see_more_does(world: World) -> None:
    client = world.client()
    begin(world)
    opened = client.ask(asking(0, ISOLATION_COMMITTED, wait_ms=0, session=(0, 0)), V)
    assert not found_in(opened)["t", 0].records
    for epoch, isolation in enumerate((ISOLATION_COMMITTED, 0), 1):
        request = fetch({}, session=(opened.session_id, epoch))
        request.isolation_level = isolation
        found = found_in(client.ask(request, V))
        assert bool(found) is (isolation == 0)


def test_a_rule_that_shows_too_much_wakes_too_early(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that waking does go by the rule that reading goes by."""
    honest = Partition.visible_end

    def visible_end(self: Partition, reader: Reader) -> int:
        return self.high_watermark if reader is COMMITTED else honest(self, reader)

    monkeypatch.setattr(Partition, "visible_end", visible_end)
    client = world.client()
    client.send(asking(0, ISOLATION_COMMITTED), V)
    begin(world)
    assert records_in(client)


def records_in(client: Client) -> object:
    (answer,) = client.replies()
    return found_in(answer)["t", 0].records
