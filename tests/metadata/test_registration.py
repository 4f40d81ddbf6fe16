"""Registration: epochs, processes, and what an unclean stop costs."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.metadata.features import ELR_VERSION, METADATA_VERSION
from penstock.core.metadata.image import NO_LEADER
from penstock.core.metadata.registration import Caller, plan_controller, plan_registration, plan_unregistration
from penstock.core.wire.api.broker_registration import Feature, Listener
from penstock.core.wire.api.controller_registration import ControllerRegistrationRequest
from penstock.core.wire.api.controller_registration import Feature as ControllerFeature
from penstock.core.wire.stored.cluster_metadata import RegisterBrokerRecord
from tests.metadata.cluster import CLUSTER_ID, Cluster, directory_of, registration

AGAIN = b"n" * 16


def refused(cluster: Cluster, broker_id: int, **changes: Any) -> ErrorCode:
    with pytest.raises(ApiError) as found:
        cluster.register(broker_id, **changes)
    return found.value.code


def test_a_new_process_gets_a_larger_epoch_and_is_fenced() -> None:
    cluster = Cluster([1])
    first = cluster.broker(1).epoch
    cluster.heartbeats.forget(1)
    answer = cluster.register(1, incarnation_id=AGAIN, previous_broker_epoch=first)
    assert answer.epoch == cluster.broker(1).epoch > first
    assert cluster.broker(1).fenced
    assert cluster.broker(1).registered_at == cluster.image.offset


def test_the_same_process_keeps_its_epoch_and_its_standing() -> None:
    cluster = Cluster([1])
    before = cluster.broker(1)
    moved = [Listener(name="PLAINTEXT", host="elsewhere", port=1)]
    answer = cluster.register(1, listeners=moved, rack="r")
    assert answer.epoch == cluster.broker(1).epoch == before.epoch
    assert not cluster.broker(1).fenced
    assert (cluster.broker(1).endpoints[0].host, cluster.broker(1).rack) == ("elsewhere", "r")


def test_an_id_that_is_alive_is_not_given_away() -> None:
    cluster = Cluster([1])
    another = [directory_of(1, number=5)]
    assert refused(cluster, 1, incarnation_id=AGAIN, log_dirs=another) is ErrorCode.DUPLICATE_BROKER_REGISTRATION
    cluster.heartbeats.forget(1)
    cluster.register(1, incarnation_id=AGAIN)


def test_whoever_has_the_folders_of_a_broker_is_its_successor_unless_that_is_connected() -> None:
    cluster = Cluster([1])
    epoch = cluster.broker(1).epoch
    for is_connected in (True, False):
        caller = Caller(CLUSTER_ID, 4, cluster.image.offset + 1, is_connected)
        request = registration(1, incarnation_id=AGAIN)
        if is_connected:
            with pytest.raises(ApiError) as found:
                plan_registration(cluster.image, cluster.settings, cluster.heartbeats, request, caller)
            assert found.value.code is ErrorCode.DUPLICATE_BROKER_REGISTRATION
        else:
            planned = plan_registration(cluster.image, cluster.settings, cluster.heartbeats, request, caller)
            cluster.sweep(planned.sweep)
    assert cluster.broker(1).epoch > epoch


def test_strangers_are_refused() -> None:
    cluster = Cluster([1])
    assert refused(cluster, 2, cluster_id="another") is ErrorCode.INCONSISTENT_CLUSTER_ID
    assert refused(cluster, 2, is_migrating_zk_broker=True) is ErrorCode.BROKER_ID_NOT_REGISTERED


@pytest.mark.parametrize(
    "directories",
    [[], [(5).to_bytes(16, "big")], [directory_of(2), directory_of(2)], [directory_of(1)]],
    ids=["none", "reserved", "twice", "another's"],
)
def test_directories_belong_to_one_broker(directories: list[bytes]) -> None:
    assert refused(Cluster([1]), 2, log_dirs=directories) is ErrorCode.INVALID_REGISTRATION


@pytest.mark.parametrize(
    ("features", "code"),
    [
        ({ELR_VERSION: (0, 1)}, ErrorCode.INVALID_REGISTRATION),
        ({METADATA_VERSION: (7, 29), ELR_VERSION: (0, 1)}, ErrorCode.UNSUPPORTED_VERSION),
        ({METADATA_VERSION: (7, 30)}, ErrorCode.UNSUPPORTED_VERSION),
        ({METADATA_VERSION: (7, 30), ELR_VERSION: (0, 1), "other": (1, 2)}, ErrorCode.UNSUPPORTED_VERSION),
    ],
    ids=["no level", "too old", "lacks what is agreed", "needs what is not agreed"],
)
def test_a_broker_must_know_what_is_agreed(features: dict[str, tuple[int, int]], code: ErrorCode) -> None:
    offered = [
        Feature(name=name, min_supported_version=low, max_supported_version=high)
        for name, (low, high) in features.items()
    ]
    assert refused(Cluster([1]), 2, features=offered) is code


def restarted(*, clean: bool, version: int = 4, elr: bool = True) -> Cluster:
    """Broker 1 led alone with too few in sync, and comes back."""
    cluster = Cluster([1, 2], elr=elr)
    cluster.create("t", [1, 2], min_insync_replicas="2")
    cluster.beat(2, want_fence=True)
    epoch = cluster.broker(1).epoch
    cluster.heartbeats.forget(1)
    cluster.register(1, version, incarnation_id=AGAIN, previous_broker_epoch=epoch if clean else -1)
    return cluster


def test_a_clean_stop_leaves_a_broker_eligible() -> None:
    cluster = restarted(clean=True)
    assert cluster.partition().leader == NO_LEADER
    assert cluster.partition().isr == ()
    assert cluster.partition().standing.elr == (1, 2)
    cluster.beat(1)
    assert cluster.partition().leader == 1


@pytest.mark.parametrize(("clean", "version"), [(False, 4), (True, 2)], ids=["unclean", "does not tell"])
def test_an_unclean_stop_takes_a_broker_out_of_every_set(clean: bool, version: int) -> None:
    cluster = restarted(clean=clean, version=version)
    assert cluster.partition().isr == ()
    assert cluster.partition().standing.elr == (2,)
    assert cluster.partition().standing.last_known_elr == (1,)
    cluster.beat(1)
    assert cluster.partition().leader == NO_LEADER, "2 has everything; 1 may not lead before it"
    cluster.beat(2)
    assert cluster.partition().leader == 2


def test_the_registration_comes_after_what_it_costs() -> None:
    cluster = restarted(clean=False)
    assert isinstance(cluster.log[-1], RegisterBrokerRecord)


def test_without_eligible_leaders_a_restart_is_a_fencing() -> None:
    cluster = restarted(clean=False, elr=False)
    assert (cluster.partition().leader, cluster.partition().isr) == (NO_LEADER, (1,))
    cluster.beat(1)
    assert cluster.partition().leader == 1


def test_an_unregistered_broker_counts_for_nothing() -> None:
    cluster = Cluster([1, 2, 3])
    cluster.create("t", [1, 2, 3], [1, 2, 3], min_insync_replicas="3")
    cluster.sweep(plan_unregistration(cluster.image, cluster.settings, cluster.heartbeats, 1))
    assert 1 not in cluster.image.brokers
    assert all(cluster.partition("t", index).leader == 2 for index in range(2))
    assert all(1 not in cluster.partition("t", index).standing.elr for index in range(2))
    with pytest.raises(ApiError) as found:
        plan_unregistration(cluster.image, cluster.settings, cluster.heartbeats, 1)
    assert found.value.code is ErrorCode.BROKER_ID_NOT_REGISTERED


def test_one_departure_at_a_time() -> None:
    cluster = Cluster([1, 2])
    cluster.create("t", [1, 2])
    sweep = plan_unregistration(cluster.image, cluster.settings, cluster.heartbeats, 1)
    assert refused(cluster, 1, incarnation_id=AGAIN) is ErrorCode.DUPLICATE_BROKER_REGISTRATION
    with pytest.raises(ApiError):
        plan_unregistration(cluster.image, cluster.settings, cluster.heartbeats, 1)
    cluster.sweep(sweep)
    cluster.join(1, incarnation_id=AGAIN)


def test_a_controller_registers() -> None:
    cluster = Cluster()
    feature = ControllerFeature(name=METADATA_VERSION, min_supported_version=7, max_supported_version=30)
    cluster.apply(
        plan_controller(ControllerRegistrationRequest(controller_id=3, incarnation_id=AGAIN, features=[feature]))
    )
    assert cluster.image.controllers[3].features == {METADATA_VERSION: (7, 30)}
