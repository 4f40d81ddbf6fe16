"""UpdateFeatures: another level for a feature, once everyone in the cluster can read it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.base.settings import BrokerSettings
from penstock.core.metadata.features import (
    ELR_METADATA_LEVEL_MIN,
    ELR_VERSION,
    KRAFT_VERSION,
    METADATA_LEVELS_WITH_NEW_RECORDS,
    METADATA_VERSION,
    SUPPORTED_FEATURES,
)
from penstock.core.metadata.image import BROKER_RESOURCE, Image
from penstock.core.metadata.rules import MIN_INSYNC_REPLICAS
from penstock.core.wire.api.update_features import (
    FeatureUpdateKey,
    UpdatableFeatureResult,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)
from penstock.core.wire.schema import StoredRecord
from penstock.core.wire.stored.cluster_metadata import ConfigRecord, FeatureLevelRecord

UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE = 1, 2, 3
DIRECTIONS_SINCE = 1
"""The request version that names the direction of an update; before that, a flag allowed the way down."""


def plan_features(
    image: Image,
    settings: BrokerSettings,
    voters: Iterable[int],
    request: UpdateFeaturesRequest,
    version: int,
    kraft_version: int = 0,
) -> tuple[list[StoredRecord], UpdateFeaturesResponse]:
    """Decide about an UpdateFeatures request: all of it, or nothing. What follows for the quorum, whose level is not
    kept in the image, is for the caller to do."""
    current = {**image.features, KRAFT_VERSION: kraft_version}
    try:
        records = _plan(image, settings, frozenset(voters), request, version, current)
    except ApiError as error:
        message = f"The update failed for all features since the following feature had an error: {error.message}"
        return [], UpdateFeaturesResponse(error_code=error.code, error_message=message)
    results = [
        UpdatableFeatureResult(feature=update.feature, error_code=0, error_message=None)
        for update in request.feature_updates
        if version <= 1
    ]
    return [] if request.validate_only else records, UpdateFeaturesResponse(error_message=None, results=results)


def _plan(
    image: Image,
    settings: BrokerSettings,
    voters: frozenset[int],
    request: UpdateFeaturesRequest,
    version: int,
    current: Mapping[str, int],
) -> list[StoredRecord]:
    wanted = {**current, **{update.feature: update.max_version_level for update in request.feature_updates}}
    records: list[StoredRecord] = []
    for update in request.feature_updates:
        _check_support(image, voters, update)
        _check_direction(current, update, version)
        if update.feature == KRAFT_VERSION:
            _check_stays(current, update)
            continue
        if update.feature == METADATA_VERSION:
            _check_records(image, update)
        elif update.feature == ELR_VERSION and update.max_version_level > 0:
            _check_dependency(update, wanted)
            records += min_insync_of_cluster(image, settings)
        records.append(FeatureLevelRecord(name=update.feature, feature_level=update.max_version_level))
    return records


def _refusal(update: FeatureUpdateKey, why: str) -> ApiError:
    return ApiError(
        ErrorCode.INVALID_UPDATE_VERSION,
        f"Invalid update version {update.max_version_level} for feature {update.feature}. {why}",
    )


def _check_support(image: Image, voters: frozenset[int], update: FeatureUpdateKey) -> None:
    """Every broker and controller, alive or not, must know the level."""
    if update.max_version_level < 0:
        raise _refusal(update, "A feature version cannot be less than 0.")
    known = [("This controller", SUPPORTED_FEATURES)]
    known += [(f"Broker {each.id}", dict(each.features)) for each in image.brokers.values()]
    known += [(f"Controller {each.id}", dict(each.features)) for each in image.controllers.values()]
    for who, features in known:
        low, high = features.get(update.feature, (0, 0))
        if not low <= update.max_version_level <= high:
            raise _refusal(update, f"{who} only supports versions {low}-{high}.")
    if missing := sorted(voters - image.controllers.keys()):
        raise _refusal(update, f"Controller {missing[0]} has not registered, and may not support this feature.")


def _check_direction(levels: Mapping[str, int], update: FeatureUpdateKey, version: int) -> None:
    direction = update.upgrade_type
    if version < DIRECTIONS_SINCE:
        direction = SAFE_DOWNGRADE if update.allow_downgrade else UPGRADE
    if direction not in (UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE):
        raise _refusal(update, "The controller does not support the given upgrade type.")
    current = levels.get(update.feature, 0)
    if update.max_version_level < current and direction == UPGRADE:
        raise _refusal(update, "Can't downgrade the version of this feature without setting the upgrade type.")
    if update.max_version_level > current and direction != UPGRADE:
        raise _refusal(update, "Can't downgrade to a newer version.")


def _check_stays(levels: Mapping[str, int], update: FeatureUpdateKey) -> None:
    if update.max_version_level < levels[KRAFT_VERSION]:
        raise _refusal(update, "Can't downgrade the version of this feature.")


def _check_records(image: Image, update: FeatureUpdateKey) -> None:
    current = image.features.get(METADATA_VERSION, 0)
    lost = METADATA_LEVELS_WITH_NEW_RECORDS & set(range(update.max_version_level + 1, current + 1))
    if lost:
        raise _refusal(update, "The downgrade might delete metadata information.")


def _check_dependency(update: FeatureUpdateKey, wanted: dict[str, int]) -> None:
    if wanted.get(METADATA_VERSION, 0) < ELR_METADATA_LEVEL_MIN:
        raise _refusal(update, f"It needs {METADATA_VERSION} {ELR_METADATA_LEVEL_MIN} or later.")


def min_insync_of_cluster(image: Image, settings: BrokerSettings) -> list[StoredRecord]:
    """From here on the number of in-sync replicas is the cluster's: it becomes a record, and brokers lose their own."""
    records: list[StoredRecord] = []
    if MIN_INSYNC_REPLICAS not in image.config(BROKER_RESOURCE, ""):
        value = str(settings.layers.static.get(MIN_INSYNC_REPLICAS, settings.topic_defaults[MIN_INSYNC_REPLICAS]))
        records.append(_min_insync("", value))
    prefix = f"{BROKER_RESOURCE}/"
    for key, values in image.configs.items():
        if key.startswith(prefix) and key != prefix and MIN_INSYNC_REPLICAS in values:
            records.append(_min_insync(key.removeprefix(prefix), None))
    return records


def _min_insync(broker: str, value: str | None) -> ConfigRecord:
    return ConfigRecord(resource_type=BROKER_RESOURCE, resource_name=broker, name=MIN_INSYNC_REPLICAS, value=value)
