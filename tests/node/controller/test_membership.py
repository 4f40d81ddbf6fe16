"""Brokers come, are heard of, fall silent, hand over and go; the controller fences whom it must, and nobody else."""

from __future__ import annotations

import pytest

from penstock.core.base.errors import ErrorCode
from penstock.core.metadata import sweep as sweeping
from penstock.core.metadata.brokers import HOST_LISTENER
from penstock.core.node.controller.pace import Pace
from penstock.core.node.membership.broker_lifecycle import State
from penstock.core.wire.api.broker_heartbeat import BrokerHeartbeatRequest
from penstock.core.wire.api.broker_registration import BrokerRegistrationRequest
from penstock.core.wire.api.unregister_broker import UnregisterBrokerRequest
from penstock.core.wire.stored.cluster_metadata import (
    BrokerRegistrationChangeRecord,
    FeatureLevelRecord,
    RegisterBrokerRecord,
)
from tests.metadata.cluster import SETTINGS, registration
from tests.node.controller.world import INTERVAL_MS, SESSION_MS, World, cluster


def were_fenced(world: World) -> list[int]:
    """Who was fenced at any time, in that order."""
    changes = [record for record in world.log if isinstance(record, BrokerRegistrationChangeRecord)]
    return [record.broker_id for record in changes if record.fenced == 1]


def test_a_new_cluster_agrees_on_its_features_and_its_brokers_serve() -> None:
    world = cluster(1, 2, 3)
    levels = [record for record in world.log if isinstance(record, FeatureLevelRecord)]
    assert [(each.name, each.feature_level) for each in levels] == [
        ("metadata.version", 30),
        ("eligible.leader.replicas.version", 1),
        ("transaction.version", 2),
        ("group.version", 1),
        ("share.version", 1),
        ("streams.version", 1),
    ]
    assert world.committed.config(4, "") == {"min.insync.replicas": "1"}
    world.run(100)
    for machine in world.machines.values():
        assert machine.broker_lifecycle.state is State.SERVING
        assert machine.broker_lifecycle.epoch == world.committed.brokers[machine.id].epoch


def test_a_registration_says_where_the_broker_stands() -> None:
    world = cluster(1, 2)
    broker = world.committed.brokers[2]
    assert broker.host == "host2"
    assert [point.name for point in broker.endpoints] == ["PLAINTEXT"]
    record = next(each for each in world.log if isinstance(each, RegisterBrokerRecord) and each.broker_id == 2)
    assert [(each.name, each.port) for each in record.end_points] == [("PLAINTEXT", 9092), (HOST_LISTENER, 0)]


def test_brokers_that_are_heard_of_stay() -> None:
    world = cluster(1, 2, 3)
    world.run(60_000)
    assert were_fenced(world) == []


def test_a_broker_that_hangs_is_fenced_after_its_session() -> None:
    world = cluster(1, 2, 3)
    world.create("t", [2, 3], min_insync_replicas="1")
    world.run(1_000)
    world.pause(2, 60_000)
    took_ms = world.run_until(lambda: world.fenced() == [2], 10_000)
    assert SESSION_MS - INTERVAL_MS <= took_ms <= SESSION_MS + SESSION_MS // 8 + 20
    assert world.partition().leader == 3
    assert "broker 2 is fenced: it was not heard of" in world.machines[1].notes


def test_a_broker_that_goes_on_serves_again_and_knows_what_happened() -> None:
    world = cluster(1, 2, 3)
    world.pause(2, 5_000)
    world.run_until(lambda: world.fenced() == [2], 10_000)
    world.run_until(lambda: world.fenced() == [], 10_000)
    world.run(100)
    assert world.machines[2].broker_lifecycle.state is State.SERVING
    assert world.machines[2].broker_lifecycle.lease_end_ms > world.now_ms


def test_a_process_that_died_is_fenced_at_once() -> None:
    world = cluster(1, 2, 3)
    world.create("t", [2, 3], min_insync_replicas="1")
    world.kill(2)
    took_ms = world.run_until(lambda: world.fenced() == [2], 10_000)
    assert took_ms < 50
    assert world.machines[1].probed == [("node2", 9092)]
    assert world.partition().leader == 3


def test_a_controller_that_died_is_fenced_by_its_successor_at_once() -> None:
    world = cluster(1, 2, 3)
    world.create("t", [1, 3], min_insync_replicas="1")
    world.run(1_000)
    world.kill(1)
    world.elect(2)
    assert world.run_until(lambda: world.fenced() == [1], 10_000) < 50
    assert world.partition().leader == 3


def test_of_two_brokers_none_is_fenced_for_a_refused_connection() -> None:
    """The controller's own network may be what is broken."""
    world = cluster(1, 2)
    world.kill(2)
    assert world.run_until(lambda: world.fenced() == [2], 10_000) > SESSION_MS - 2 * INTERVAL_MS


def test_hints_fence_a_third_per_session() -> None:
    world = cluster(1, 2, 3, 4, 5, 6)
    for broker_id in (2, 3, 4):
        world.kill(broker_id)
    world.run(200)
    assert len(world.fenced()) == 2
    world.run(2 * SESSION_MS)
    assert world.fenced() == [2, 3, 4]


def test_a_broker_whose_connection_breaks_but_that_listens_is_waited_for() -> None:
    world = cluster(1, 2, 3)
    world.machines[1].controller.lost(world.machines[2])
    world.run(3_000)
    assert world.machines[1].probed == [("node2", 9092)]
    assert were_fenced(world) == []


def test_that_a_connection_ends_which_a_broker_has_left_means_nothing() -> None:
    world = cluster(1, 2, 3)
    controller = world.machines[1].controller
    controller.met(2, "a connection")
    world.run(2 * INTERVAL_MS)
    controller.lost("a connection")
    assert world.machines[1].probed == []


def test_a_connection_that_a_broker_has_left_does_not_hide_its_death() -> None:
    """As after a cut: the broker has given the connection up, and the controller has not heard of that."""
    world = cluster(1, 2, 3)
    world.machines[1].controller.met(2, "a connection")
    world.run(2 * INTERVAL_MS)
    world.kill(2)
    assert world.run_until(lambda: world.fenced() == [2], 10_000) < 50


def test_a_controller_that_was_paused_itself_fences_nobody() -> None:
    world = cluster(1, 2, 3)
    world.pause(1, 10_000)
    world.run(30_000)
    assert were_fenced(world) == []


def test_the_controllers_own_broker_has_no_session() -> None:
    """Nobody else would tell its heartbeats from its silence, and it cannot be silent."""
    world = cluster(1, 2, 3)
    world.machines[1].broker_lifecycle.stop = lambda left: None  # type: ignore[method-assign]  # a broker that says nothing
    world.machines[1].broker_lifecycle._speak = lambda: None  # type: ignore[method-assign]  # the same
    world.run(10_000)
    assert were_fenced(world) == []


def test_a_new_controller_gives_everyone_a_whole_session() -> None:
    world = cluster(1, 2, 3)
    world.run(1_000)
    world.pause(2, 60_000)
    world.run(SESSION_MS - 2 * INTERVAL_MS)
    world.elect(3)
    took_ms = world.run_until(lambda: world.fenced() == [2], 10_000)
    assert took_ms >= SESSION_MS


def test_a_controlled_shutdown_hands_over_first() -> None:
    world = cluster(1, 2, 3)
    world.create("t", [2, 3], min_insync_replicas="1")
    left: list[bool] = []
    world.machines[2].broker_lifecycle.stop(left.append)
    world.run_until(lambda: bool(left), 10_000)
    assert left == [True]
    assert world.partition().leader == 3
    assert world.partition().isr == (3,)
    assert world.machines[3].image.offset >= world.committed.offset - 1, "it left before others knew"
    assert world.machines[2].broker_lifecycle.state is State.GONE


def test_a_restart_after_a_clean_stop_keeps_eligible_leaders_and_an_unclean_one_does_not() -> None:
    for is_clean in (True, False):
        world = cluster(1, 2, 3)
        world.create("t", [2, 3], min_insync_replicas="2")
        left: list[bool] = []
        epoch = world.machines[2].broker_lifecycle.epoch
        world.machines[2].broker_lifecycle.stop(left.append)
        world.run_until(lambda left=left: bool(left), 10_000)  # type: ignore[misc]  # bound now
        assert 2 in world.partition().standing.elr
        world.kill(2)
        world.start(2, previous_epoch=epoch if is_clean else -1)
        world.run_until(lambda world=world: not world.fenced(), 10_000)  # type: ignore[misc]  # bound now
        assert (2 in world.partition().standing.elr) is is_clean
        assert world.machines[2].broker_lifecycle.epoch > epoch


def test_a_process_that_is_started_again_is_let_in_at_once() -> None:
    world = cluster(1, 2)
    world.kill(2)
    world.start(2)
    assert world.run_until(lambda: world.machines[2].broker_lifecycle.state is State.SERVING, 10_000) < 100


def test_another_process_with_the_same_id_is_not_let_in() -> None:
    world = cluster(1, 2)
    answer = world.ask(registration(2, incarnation_id=b"another process.", log_dirs=[b"another director"]))
    assert answer.error_code == ErrorCode.DUPLICATE_BROKER_REGISTRATION
    assert world.ask(registration(2, incarnation_id=b"another process.")).error_code == answer.error_code


def test_an_unregistered_broker_that_lives_registers_again() -> None:
    world = cluster(1, 2, 3)
    epoch = world.machines[2].broker_lifecycle.epoch
    assert world.ask(UnregisterBrokerRequest(broker_id=2)).error_code == 0
    world.run_until(lambda: 2 in world.committed.brokers and not world.fenced(), 10_000)
    world.run(200)
    assert world.machines[2].broker_lifecycle.epoch > epoch


def test_what_a_controller_refuses() -> None:
    world = cluster(1, 2)
    unknown = world.ask(BrokerHeartbeatRequest(broker_id=9, broker_epoch=1, current_metadata_offset=1))
    assert unknown.error_code == ErrorCode.STALE_BROKER_EPOCH
    stale = world.ask(BrokerHeartbeatRequest(broker_id=2, broker_epoch=0, current_metadata_offset=1))
    assert stale.error_code == ErrorCode.STALE_BROKER_EPOCH
    other = world.ask(registration(3, cluster_id="another"))
    assert other.error_code == ErrorCode.INCONSISTENT_CLUSTER_ID
    assert world.ask(UnregisterBrokerRequest(broker_id=9)).error_code == ErrorCode.BROKER_ID_NOT_REGISTERED
    assert world.ask(UnregisterBrokerRequest(broker_id=1)).error_code == ErrorCode.INVALID_REQUEST
    idle = world.ask(BrokerRegistrationRequest(broker_id=3), node_id=2)
    assert idle.error_code == ErrorCode.NOT_CONTROLLER


def test_a_registration_that_is_lost_with_its_controller_is_made_again() -> None:
    world = cluster(1, 2, 3)
    world.start(4)
    world.run_until(lambda: world.machines[1].ledger.uncommitted_image.brokers.get(4) is not None, 1_000)
    world.elect(3)
    assert 4 not in world.committed.brokers, "nothing was lost, so nothing is tested"
    world.run_until(lambda: 4 in world.committed.brokers and not world.fenced(), 10_000)


def test_what_a_controller_left_half_done_its_successor_finishes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweeping, "CHANGES_PER_TURN_MAX", 1)
    world = cluster(1, 2, 3)
    world.create("t", *[[2, 3]] * 20, min_insync_replicas="1")
    world.kill(2)
    world.run_until(lambda: world.fenced() == [2], 10_000)
    world.elect(3)
    led_by_2 = world.committed.tally.leading.get(2, 0)
    assert 0 < led_by_2 < 20, "nothing was left half done, so nothing is tested"
    world.run(500)
    assert world.committed.tally.leading == {3: 20}


def test_a_broker_without_a_controller_leaves_by_itself() -> None:
    world = cluster(1, 2, 3)
    world.isolate(2)
    left: list[bool] = []
    world.machines[2].broker_lifecycle.stop(left.append)
    assert world.run_until(lambda: bool(left), 10_000) <= 3 * SESSION_MS
    assert left == [False]


def test_a_broker_that_is_never_registered_gives_up() -> None:
    world = World(**{"initial.broker.registration.timeout.ms": "5000"})
    world.start(1)
    states: list[State] = []
    world.machines[1].broker_lifecycle.on_state = states.append
    world.run(6_000)
    assert states == [State.GONE]


def test_the_pace_grows_with_the_cluster() -> None:
    assert Pace.of(SETTINGS, 3) == Pace(INTERVAL_MS, SESSION_MS)
    assert Pace.of(SETTINGS, 30).interval_ms == 150
    assert Pace.of(SETTINGS, 200) == Pace(1_000, 6_000)


def test_settings_set_the_pace() -> None:
    given = {"broker.heartbeat.interval.ms": "500", "broker.session.timeout.ms": "6000"}
    world = cluster(1, 2, 3, **given)
    world.run(1_000)
    world.pause(2, 60_000)
    assert 5_000 <= world.run_until(lambda: world.fenced() == [2], 10_000) <= 7_000
