"""Heartbeats: how a broker comes, goes, and is let go; and what becomes of its partitions."""

from __future__ import annotations

import pytest

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.metadata.brokers import FULL_DIRECTORY
from penstock.core.metadata.elections import balancing
from penstock.core.metadata.features import METADATA_VERSION
from penstock.core.metadata.heartbeats import Heartbeats, State
from penstock.core.metadata.image import NO_LEADER
from penstock.core.wire.stored.cluster_metadata import (
    BrokerRegistrationChangeRecord,
    FeatureLevelRecord,
    PartitionChangeRecord,
)
from tests.metadata.cluster import SESSION_MS, Cluster, directory_of, topic_id


def test_a_broker_is_unfenced_when_it_has_folded_its_registration() -> None:
    cluster = Cluster()
    cluster.register(1)
    behind = cluster.beat(1, offset=cluster.broker(1).registered_at - 1)
    assert (behind.state, behind.answer.is_caught_up, behind.answer.is_fenced) == (State.FENCED, False, True)
    assert cluster.beat(1, want_fence=True).state is State.FENCED
    caught_up = cluster.beat(1)
    assert (caught_up.state, caught_up.answer.is_caught_up, caught_up.answer.is_fenced) == (State.UNFENCED, True, False)
    assert not cluster.broker(1).fenced
    assert cluster.beat(1).sweeps == []


def test_a_replaced_broker_is_told_so() -> None:
    cluster = Cluster([1])
    for broker, epoch in ((1, 99), (1, -1)):
        with pytest.raises(ApiError) as refused:
            cluster.beat(broker, epoch=epoch)
        assert refused.value.code is ErrorCode.STALE_BROKER_EPOCH


def test_a_silent_broker_loses_what_it_led() -> None:
    cluster = Cluster([1, 2, 3])
    cluster.create("t", [1, 2, 3], [2, 3, 1], [3, 1, 2])
    for now_ms in range(0, SESSION_MS + 1, 100):
        assert cluster.tick(now_ms) == ([1] if now_ms == SESSION_MS else [])
        cluster.beat(2)
        cluster.beat(3)
    assert [cluster.partition("t", index).leader for index in range(3)] == [2, 2, 3]
    assert all(1 not in cluster.partition("t", index).isr for index in range(3))
    assert [cluster.partition("t", index).leader_epoch for index in range(3)] == [1, 0, 0]
    assert 1 not in cluster.image.tally.leading


def test_a_broker_that_was_cut_off_hears_first_what_it_has_lost() -> None:
    cluster = Cluster([1, 2])
    cluster.create("t", [1, 2])
    then = cluster.image.offset
    for now_ms in range(0, SESSION_MS + 1, 100):
        cluster.tick(now_ms)
        cluster.beat(2)
    assert cluster.partition("t", 0).leader == 2
    assert cluster.beat(1, offset=then).state is State.FENCED, "it still believes to lead"
    told = cluster.image.offset
    cluster.create("u", [2])
    assert cluster.beat(1, offset=told - 1).state is State.FENCED
    assert cluster.beat(1, offset=told).state is State.UNFENCED, "what came since is not about it"


def test_fencing_comes_before_what_follows_from_it() -> None:
    cluster = Cluster([1, 2])
    cluster.create("t", [1, 2])
    cluster.log.clear()
    cluster.beat(1, want_fence=True)
    assert [type(record) for record in cluster.log] == [BrokerRegistrationChangeRecord, PartitionChangeRecord]


def test_a_broker_that_returns_leads_what_nobody_led() -> None:
    cluster = Cluster([1, 2])
    cluster.create("t", [1], [2])
    cluster.beat(1, want_fence=True)
    assert [cluster.partition("t", index).leader for index in range(2)] == [NO_LEADER, 2]
    assert cluster.partition("t", 0).standing.elr == (1,)
    assert cluster.image.tally.leaderless == 1
    cluster.beat(1)
    assert cluster.partition("t", 0).leader == 1
    assert cluster.partition("t", 0).isr == (1,)
    assert cluster.image.tally.leaderless == 0


def test_a_controlled_shutdown_waits_until_everyone_knows() -> None:
    cluster = Cluster([1, 2, 3])
    cluster.create("t", [1, 2, 3])
    asked = cluster.beat(1, want_shut_down=True)
    assert (asked.state, asked.answer.should_shut_down, asked.answer.is_fenced) == (State.SHUTTING_DOWN, False, False)
    assert cluster.broker(1).in_controlled_shutdown
    assert cluster.partition().leader == 2
    assert cluster.partition().isr == (2, 3)
    handed_over_at = cluster.image.offset
    cluster.heartbeats.handed_over(1, cluster.broker(1).epoch, handed_over_at)
    cluster.beat(2, offset=handed_over_at)
    assert cluster.beat(1, want_shut_down=True).state is State.SHUTTING_DOWN, "3 has not folded it"
    cluster.beat(3, offset=handed_over_at)
    last = cluster.beat(1, want_shut_down=True)
    assert (last.state, last.answer.should_shut_down) == (State.MAY_STOP, True)
    assert cluster.broker(1).fenced
    cluster.join(1, incarnation_id=b"n" * 16, previous_broker_epoch=cluster.broker(1).epoch)
    assert not cluster.broker(1).in_controlled_shutdown


def test_that_a_broker_has_handed_over_may_be_known_only_when_it_is_back() -> None:
    """A sweep that is committed late tells of a life that is over (seed 749440299)."""
    cluster = Cluster([1, 2, 3])
    cluster.create("t", [1, 2, 3])
    assert cluster.beat(1, want_shut_down=True).state is State.SHUTTING_DOWN
    first_life = cluster.broker(1).epoch
    assert cluster.beat(1, want_shut_down=True).state is State.MAY_STOP
    cluster.register(1, incarnation_id=b"n" * 16, previous_broker_epoch=first_life)
    cluster.heartbeats.handed_over(1, first_life, cluster.image.offset)
    assert cluster.beat(1).state is State.UNFENCED
    assert cluster.beat(1).state is State.UNFENCED, "this life has never asked to stop"
    assert not cluster.broker(1).in_controlled_shutdown
    assert cluster.beat(1, want_shut_down=True).state is State.MAY_STOP, "it leads nothing"


def test_who_is_back_is_waited_for_although_its_last_life_had_handed_over() -> None:
    cluster = Cluster([1, 2])
    cluster.create("t", [1, 2])
    cluster.beat(2, want_shut_down=True)
    first_life = cluster.broker(2).epoch
    cluster.join(2, incarnation_id=b"n" * 16, previous_broker_epoch=first_life)
    cluster.heartbeats.handed_over(2, first_life, cluster.image.offset)
    cluster.beat(2, offset=cluster.image.offset)
    assert cluster.beat(1, want_shut_down=True).state is State.SHUTTING_DOWN
    cluster.heartbeats.handed_over(1, cluster.broker(1).epoch, cluster.image.offset)
    assert cluster.beat(1, want_shut_down=True).state is State.SHUTTING_DOWN, "2 has not folded it"


def test_who_leads_nothing_may_stop_at_once() -> None:
    cluster = Cluster([1, 2])
    cluster.create("t", [2, 1])
    assert cluster.beat(1, want_shut_down=True).state is State.MAY_STOP
    assert cluster.broker(1).fenced
    assert cluster.partition().isr == (2,)
    assert cluster.beat(1, want_shut_down=True).answer.should_shut_down, "a fenced broker may stop"
    assert cluster.beat(2, want_shut_down=True, want_fence=True).state is State.MAY_STOP


def test_a_broker_that_shuts_down_is_given_nothing_new() -> None:
    cluster = Cluster([1, 2])
    cluster.create("t", [1, 2])
    cluster.beat(1, want_shut_down=True)
    cluster.create("u", [1, 2])
    assert cluster.partition("u").isr == (2,)
    assert cluster.partition("u").leader == 2


def test_a_new_controller_waits_a_session_for_everyone() -> None:
    cluster = Cluster([1, 2, 3])
    cluster.beat(3, want_fence=True)
    cluster.heartbeats = Heartbeats(cluster.image, SESSION_MS, 50_000)
    assert cluster.tick(50_000 + SESSION_MS - 1) == []
    assert cluster.tick(50_000 + SESSION_MS) == [1, 2]


def test_a_hint_fences_at_once_but_not_everyone() -> None:
    cluster = Cluster([1, 2, 3])
    cluster.create("t", [1, 2, 3])
    cluster.sweep(cluster.heartbeats.hint(cluster.image, cluster.settings, 1))
    assert cluster.broker(1).fenced
    assert cluster.partition().leader == 2
    assert cluster.heartbeats.hint(cluster.image, cluster.settings, 2) is None, "one of three is enough"
    assert cluster.heartbeats.hint(cluster.image, cluster.settings, 1) is None, "it is fenced already"
    assert cluster.heartbeats.hint(cluster.image, cluster.settings, 9) is None, "nobody knows it"
    cluster.register(1, incarnation_id=b"n" * 16)
    assert cluster.beat(1).state is State.UNFENCED, "its new process need not wait for the session of the old one"
    cluster.sweep(cluster.heartbeats.hint(cluster.image, cluster.settings, 2))
    assert cluster.broker(2).fenced, "the first hint was right"


def test_an_old_session_says_nothing_about_a_new_process() -> None:
    cluster = Cluster([1])
    cluster.heartbeats.sessions.touch(1, cluster.broker(1).epoch - 1)
    assert cluster.tick(SESSION_MS) == []
    assert not cluster.broker(1).fenced


def test_a_directory_that_fails_takes_its_partitions_with_it() -> None:
    cluster = Cluster()
    cluster.join(1, log_dirs=[directory_of(1, 0), directory_of(1, 1)])
    cluster.join(2)
    cluster.create("t", [1, 2], [1, 2])
    cluster.apply(
        PartitionChangeRecord(
            topic_id=topic_id("t"),
            partition_id=index,
            directories=[directory_of(1, index), directory_of(2)],
        )
        for index in range(2)
    )
    cluster.beat(1, offline_log_dirs=[directory_of(1, 1)])
    assert cluster.broker(1).directories == (directory_of(1, 0),)
    assert [cluster.partition("t", index).leader for index in range(2)] == [1, 2]
    assert [cluster.partition("t", index).isr for index in range(2)] == [(1, 2), (2,)]
    assert cluster.beat(1, offline_log_dirs=[directory_of(1, 1)]).sweeps == [], "it is known already"
    cluster.beat(1, offline_log_dirs=[directory_of(1, 0), directory_of(1, 1)])
    assert cluster.broker(1).fenced, "without a directory there is nothing to lead"
    assert cluster.partition("t", 0).leader == 2
    assert cluster.beat(1, offline_log_dirs=[directory_of(1, 0)]).state is State.FENCED
    assert cluster.beat(1).state is State.UNFENCED


def test_cordoned_directories_are_written_down_once() -> None:
    cluster = Cluster([1])
    assert cluster.beat(1, cordoned_log_dirs=[directory_of(1)]).sweeps
    assert not cluster.broker(1).takes_replicas
    assert not cluster.beat(1, cordoned_log_dirs=[directory_of(1)]).sweeps
    assert not cluster.beat(1).sweeps, "an older broker does not tell"
    cluster.beat(1, cordoned_log_dirs=[])
    assert cluster.broker(1).takes_replicas


def test_where_the_metadata_has_no_room_for_it_nothing_is_said_of_cordoned_directories() -> None:
    cluster = Cluster([1])
    cluster.apply([FeatureLevelRecord(name=METADATA_VERSION, feature_level=29)])
    assert not cluster.beat(1, cordoned_log_dirs=[directory_of(1)]).sweeps, "it would be said again and again"


class TestFull:
    def test_a_full_disk_hands_over_what_others_can_lead(self) -> None:
        cluster = Cluster([1, 2, 3])
        cluster.create("t", [1, 2, 3], [2, 1, 3])
        cluster.create("alone", [1])
        cluster.beat(1, cordoned_log_dirs=[FULL_DIRECTORY])
        assert [cluster.partition("t", index).leader for index in range(2)] == [2, 2]
        assert cluster.partition("alone").leader == 1, "it can be read"
        assert cluster.partition("t", 0).isr == (1, 2, 3), "it goes on to follow"
        assert not cluster.beat(1, cordoned_log_dirs=[FULL_DIRECTORY]).sweeps, "it is known already"
        cluster.beat(1, cordoned_log_dirs=[])
        assert cluster.partition("t", 0).leader == 2, "balancing gives it back"
        cluster.sweep(balancing(cluster.image, cluster.settings))
        assert cluster.partition("t", 0).leader == 1

    def test_one_full_disk_is_as_good_as_another(self) -> None:
        cluster = Cluster([1, 2])
        cluster.create("t", [1, 2])
        cluster.beat(2, cordoned_log_dirs=[FULL_DIRECTORY])
        cluster.beat(1, cordoned_log_dirs=[FULL_DIRECTORY])
        assert cluster.partition().leader == 1
        cluster.beat(2, cordoned_log_dirs=[])
        assert cluster.partition().leader == 2, "now there is room on one of them"

    def test_who_is_cordoned_by_its_settings_leads_on(self) -> None:
        cluster = Cluster([1, 2])
        cluster.create("t", [1, 2])
        cluster.beat(1, cordoned_log_dirs=[directory_of(1)])
        assert cluster.partition().leader == 1
        assert not cluster.broker(1).is_full

    def test_a_full_disk_gets_replicas_but_does_not_lead_them(self) -> None:
        cluster = Cluster([1, 2])
        cluster.beat(1, cordoned_log_dirs=[FULL_DIRECTORY])
        assert cluster.broker(1).takes_replicas
        assert not cluster.broker(1).takes_copies
        cluster.create("t", [1, 2])
        cluster.create("alone", [1])
        assert (cluster.partition("t").leader, cluster.partition("alone").leader) == (2, 1)

    def test_the_next_controller_finishes_the_handing_over(self) -> None:
        cluster = Cluster([1, 2])
        cluster.create("t", [1, 2])
        told = BrokerRegistrationChangeRecord(
            broker_id=1, broker_epoch=cluster.broker(1).epoch, cordoned_log_dirs=[FULL_DIRECTORY]
        )
        cluster.apply([told])
        for sweep in Heartbeats(cluster.image, SESSION_MS, 0).take_over(cluster.image, cluster.settings):
            cluster.sweep(sweep)
        assert cluster.partition().leader == 2
