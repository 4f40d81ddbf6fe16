"""The feature levels of a cluster: what it may write, so that each of its nodes can read it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from penstock import __version__
from penstock.client.blocking import Client
from penstock.client.errors import check
from penstock.core.wire.api.api_versions import ApiVersionsRequest, ApiVersionsResponse
from penstock.core.wire.api.update_features import FeatureUpdateKey, UpdateFeaturesRequest, UpdateFeaturesResponse

SAFE_DOWNGRADE: Final = 2
DIRECTIONS_SINCE: Final = 1
"""The version of UpdateFeatures that names the direction; before that, a flag allowed the way down."""


class Feature(NamedTuple):
    """A feature, the level that the cluster has agreed on, and those that whoever was asked can read."""

    name: str
    level: int
    oldest: int
    newest: int


def features(client: Client) -> list[Feature]:
    """All features that a broker knows, by name."""
    request = ApiVersionsRequest(client_software_name="penstock", client_software_version=__version__)
    answer = client.retry(lambda: client.ask(request, ApiVersionsResponse))
    levels = {one.name: one.max_version_level for one in answer.finalized_features}
    known = {one.name: (one.min_version, one.max_version) for one in answer.supported_features}
    return [
        Feature(name, levels.get(name, 0), *known.get(name, (levels.get(name, 0),) * 2))
        for name in sorted(levels.keys() | known.keys())
    ]


def set_levels(client: Client, levels: Mapping[str, int], *, downgrade: bool, validate_only: bool) -> None:
    """Raise levels, or lower them where nothing is lost by that: all of them, or none."""
    names_directions = client.link().versions.pick(UpdateFeaturesRequest) >= DIRECTIONS_SINCE
    way_down = {"upgrade_type": SAFE_DOWNGRADE} if names_directions else {"allow_downgrade": True}
    updates = [
        FeatureUpdateKey(feature=name, max_version_level=level, **(way_down if downgrade else {}))
        for name, level in levels.items()
    ]
    request = UpdateFeaturesRequest(
        timeout_ms=int(client.timeout * 1000), feature_updates=updates, validate_only=validate_only
    )

    def attempt() -> None:
        answer = client.ask(request, UpdateFeaturesResponse)
        check(answer.error_code, "the features", answer.error_message)
        for result in answer.results:
            check(result.error_code, result.feature, result.error_message)

    client.retry(attempt)
