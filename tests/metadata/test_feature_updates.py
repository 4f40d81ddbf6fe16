"""UpdateFeatures: up when everyone can follow, down only where nothing is lost."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.core.base.errors import ErrorCode
from penstock.core.metadata.feature_updates import SAFE_DOWNGRADE, UNSAFE_DOWNGRADE, UPGRADE, plan_features
from penstock.core.metadata.features import ELR_VERSION, METADATA_VERSION, TRANSACTION_VERSION
from penstock.core.metadata.image import BROKER_RESOURCE
from penstock.core.metadata.registration import plan_controller
from penstock.core.metadata.rules import MIN_INSYNC_REPLICAS
from penstock.core.wire.api.broker_registration import Feature
from penstock.core.wire.api.controller_registration import ControllerRegistrationRequest
from penstock.core.wire.api.update_features import FeatureUpdateKey, UpdateFeaturesRequest, UpdateFeaturesResponse
from penstock.core.wire.stored.cluster_metadata import ConfigRecord, FeatureLevelRecord
from tests.metadata.cluster import Cluster


def update(
    cluster: Cluster, *updates: tuple[str, int, int], voters: tuple[int, ...] = (), version: int = 2, **named: Any
) -> UpdateFeaturesResponse:
    wanted = [
        FeatureUpdateKey(
            feature=name, max_version_level=level, upgrade_type=direction, allow_downgrade=direction != UPGRADE
        )
        for name, level, direction in updates
    ]
    request = UpdateFeaturesRequest(feature_updates=wanted, **named)
    records, answer = plan_features(cluster.image, cluster.settings, voters, request, version)
    cluster.apply(records)
    return answer


def at_level(level: int, *brokers: int) -> Cluster:
    cluster = Cluster(elr=False)
    cluster.apply([FeatureLevelRecord(name=METADATA_VERSION, feature_level=level)])
    for broker in brokers:
        cluster.join(broker)
    return cluster


def test_a_cluster_goes_up() -> None:
    cluster = at_level(25, 1, 2)
    answer = update(cluster, (METADATA_VERSION, 30, UPGRADE), version=1)
    assert (answer.error_code, [each.feature for each in answer.results]) == (0, [METADATA_VERSION])
    assert cluster.image.features[METADATA_VERSION] == 30
    assert update(cluster, (METADATA_VERSION, 30, UPGRADE)).results == []


def test_only_asking_changes_nothing() -> None:
    cluster = at_level(25)
    assert update(cluster, (METADATA_VERSION, 30, UPGRADE), validate_only=True).error_code == 0
    assert cluster.image.features[METADATA_VERSION] == 25


@pytest.mark.parametrize(
    ("name", "level", "direction", "words"),
    [
        (METADATA_VERSION, 31, UPGRADE, "only supports"),
        (METADATA_VERSION, 3, SAFE_DOWNGRADE, "only supports"),
        ("nothing.version", 1, UPGRADE, "only supports"),
        (METADATA_VERSION, -1, UPGRADE, "less than 0"),
        (METADATA_VERSION, 29, 0, "upgrade type"),
        (METADATA_VERSION, 24, UPGRADE, "without setting"),
        (METADATA_VERSION, 29, SAFE_DOWNGRADE, "newer version"),
        (METADATA_VERSION, 22, SAFE_DOWNGRADE, "delete metadata"),
        (METADATA_VERSION, 22, UNSAFE_DOWNGRADE, "delete metadata"),
    ],
)
def test_what_is_refused(name: str, level: int, direction: int, words: str) -> None:
    cluster = at_level(28, 1)
    answer = update(cluster, (name, level, direction))
    assert answer.error_code == ErrorCode.INVALID_UPDATE_VERSION
    assert words in (answer.error_message or "")
    assert cluster.image.features == {METADATA_VERSION: 28}


def test_the_way_down_is_open_while_records_stay_the_same() -> None:
    cluster = at_level(28)
    assert update(cluster, (METADATA_VERSION, 24, SAFE_DOWNGRADE)).error_code == 0
    assert update(cluster, (METADATA_VERSION, 23, SAFE_DOWNGRADE), version=0).error_code == 0
    assert cluster.image.features[METADATA_VERSION] == 23


def test_everyone_must_be_able_to_follow() -> None:
    cluster = at_level(25)
    old = [Feature(name=METADATA_VERSION, min_supported_version=7, max_supported_version=26)]
    cluster.register(7, features=old)
    assert "Broker 7" in (update(cluster, (METADATA_VERSION, 27, UPGRADE)).error_message or "")
    assert update(cluster, (METADATA_VERSION, 26, UPGRADE)).error_code == 0
    silent = update(cluster, (METADATA_VERSION, 26, UPGRADE), voters=(3,))
    assert "Controller 3 has not registered" in (silent.error_message or "")
    cluster.apply(plan_controller(ControllerRegistrationRequest(controller_id=3, incarnation_id=b"c" * 16)))
    assert "Controller 3 only supports" in (update(cluster, (METADATA_VERSION, 26, UPGRADE)).error_message or "")


def test_one_bad_update_spoils_all() -> None:
    cluster = at_level(25)
    assert update(cluster, (METADATA_VERSION, 30, UPGRADE), (ELR_VERSION, 2, UPGRADE)).error_code != 0
    assert cluster.image.features == {METADATA_VERSION: 25}


def test_eligible_leaders_need_records_that_can_name_them() -> None:
    cluster = at_level(22)
    assert "needs metadata.version 23" in (update(cluster, (ELR_VERSION, 1, UPGRADE)).error_message or "")
    assert update(cluster, (METADATA_VERSION, 23, UPGRADE), (ELR_VERSION, 1, UPGRADE)).error_code == 0
    assert cluster.image.features == {METADATA_VERSION: 23, ELR_VERSION: 1}


def test_with_eligible_leaders_the_number_of_in_sync_replicas_is_the_clusters() -> None:
    cluster = at_level(30, 1)
    own = ConfigRecord(resource_type=BROKER_RESOURCE, resource_name="1", name=MIN_INSYNC_REPLICAS, value="3")
    cluster.apply([own])
    update(cluster, (ELR_VERSION, 1, UPGRADE))
    assert cluster.image.config(BROKER_RESOURCE, "") == {MIN_INSYNC_REPLICAS: "1"}
    assert cluster.image.config(BROKER_RESOURCE, "1") == {}
    update(cluster, (ELR_VERSION, 0, SAFE_DOWNGRADE))
    assert ELR_VERSION not in cluster.image.features


def test_the_version_of_transactions_goes_up_and_down() -> None:
    cluster = Cluster()
    for level, direction in ((2, UPGRADE), (1, SAFE_DOWNGRADE), (0, SAFE_DOWNGRADE), (1, UPGRADE)):
        assert update(cluster, (TRANSACTION_VERSION, level, direction)).error_code == 0
        assert cluster.image.features.get(TRANSACTION_VERSION, 0) == level
    assert update(cluster, (TRANSACTION_VERSION, 3, UPGRADE)).error_code != 0
