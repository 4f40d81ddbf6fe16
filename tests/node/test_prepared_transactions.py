"""Two-phase commit (KIP-939) on a node: prepared by one process, ended by another, seen by readers in between."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.core.base.errors import ErrorCode
from penstock.core.wire.api.init_producer_id import InitProducerIdRequest
from tests.node.transactional import Transactional
from tests.node.world import World

NONE = ErrorCode.NONE
TWO_PHASES = {
    "transaction.state.log.num.partitions": "2",
    "transaction.two.phase.commit.enable": "true",
    "unstable.api.versions.enable": "true",
}
NO_TIMEOUT_MS = 2**31 - 1


def prepared(world: World) -> Transactional:
    """All that a writer does before its outside coordinator is told."""
    world.create("t", 2)
    writer = Transactional(world, "writer-0")
    writer.find()
    assert writer.begin(timeout_ms=-1, version=6, enable2_pc=True) is NONE
    assert writer.add("t", 0, 1) == [NONE, NONE]
    writer.write("t", b"v", 0)
    writer.write("t", b"w", 1)
    return writer


def take_over(world: World) -> tuple[Transactional, Any]:
    heir = Transactional(world, "writer-0")
    asked = InitProducerIdRequest(
        transactional_id="writer-0", transaction_timeout_ms=-1, enable2_pc=True, keep_prepared_txn=True
    )
    answer = heir.client.ask(asked, 6)
    assert answer.error_code == 0
    heir.producer = heir.producer._replace(id=answer.producer_id, epoch=answer.producer_epoch)
    return heir, answer


def stable(world: World) -> list[int]:
    found = [world.node.replicas.get("t", index) for index in (0, 1)]
    return [each.last_stable_offset for each in found if each is not None]


@pytest.mark.parametrize("clean", [True, False])
@pytest.mark.parametrize("committed", [True, False])
def test_another_process_ends_it_over_restarts_at_every_step(committed: bool, clean: bool) -> None:
    world = World(TWO_PHASES)
    writer = prepared(world)
    world.restart(clean)
    world.pass_time(20 * 60_000)
    assert stable(world) == [0, 0]
    _, answer = take_over(world)
    assert (answer.ongoing_txn_producer_id, answer.ongoing_txn_producer_epoch) == writer.producer
    world.restart(clean)
    heir, answer = take_over(world)
    assert (answer.ongoing_txn_producer_id, answer.ongoing_txn_producer_epoch) == writer.producer
    assert heir.described().transaction_timeout_ms == NO_TIMEOUT_MS
    writer.client = world.client()
    assert writer.end(True) is ErrorCode.PRODUCER_FENCED
    assert heir.end(committed, 5) is NONE
    world.restart(clean)
    world.run_due()
    heir.client = world.client()
    assert heir.state() == ("CompleteCommit" if committed else "CompleteAbort")
    assert stable(world) == [2, 2]
    assert heir.add("t", 0) == [NONE]


def test_whoever_just_begins_aborts_it() -> None:
    world = World(TWO_PHASES)
    prepared(world)
    other = Transactional(world, "writer-0")
    assert other.begin() is ErrorCode.CONCURRENT_TRANSACTIONS
    world.run_due()
    assert other.begin() is NONE
    assert (stable(world), other.described().transaction_timeout_ms) == ([2, 2], 60_000)


def test_without_the_settings_nobody_is_promised_anything() -> None:
    world = World(TWO_PHASES | {"transaction.two.phase.commit.enable": "false"})
    world.create("t")
    writer = Transactional(world)
    writer.find()
    assert writer.begin(version=6, enable2_pc=True) is ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    assert writer.begin(version=6) is NONE
    world = World()
    world.create("t")
    client = world.client()
    client.send(InitProducerIdRequest(transactional_id="tx", transaction_timeout_ms=1_000), 6)
    world.settle()
    assert client.connection.closing, "as for any version that is not served"
