"""ApiVersions (18). Versions 0 to 4; a version nobody knows is refused at version 0, with the versions of ApiVersions
alone (KIP-511): who found all APIs there would not ask again, and never hear of the features.

Produce is advertised from version 0 although 0 to 2 are refused: librdkafka takes a higher minimum for a broker that
cannot be produced to. The two APIs of KIP-714 are advertised while anybody has subscribed to clients' metrics, as
Kafka's are while a receiver is there: librdkafka says a line on stderr about each broker that has them.
"""

from __future__ import annotations

import re

from penstock.core.apis.telemetry_clients import has_subscriptions
from penstock.core.base.errors import ErrorCode
from penstock.core.metadata.features import KRAFT_VERSION, SUPPORTED_FEATURES
from penstock.core.node.node import Node
from penstock.core.node.serving.access import NOTHING
from penstock.core.node.serving.api import Answer, Api
from penstock.core.node.serving.slots import Slot
from penstock.core.wire.api.api_versions import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)

PRODUCE_KEY = 0
TELEMETRY_KEYS = (71, 72)

_SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")


def handle(node: Node, request: ApiVersionsRequest | None, slot: Slot) -> Answer:
    if request is None:
        known = ApiVersion(api_key=API.key, min_version=API.versions[0], max_version=API.versions[-1])
        return ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, api_keys=[known])
    if slot.version >= 3 and not (
        _SOFTWARE.fullmatch(request.client_software_name) and _SOFTWARE.fullmatch(request.client_software_version)
    ):
        return ApiVersionsResponse(error_code=node.error("ApiVersions", ErrorCode.INVALID_REQUEST))
    if slot.version >= 3:
        slot.connection.software = (request.client_software_name, request.client_software_version)
    return ApiVersionsResponse(
        error_code=0,
        api_keys=_api_keys(node, slot),
        supported_features=[
            SupportedFeatureKey(name=name, min_version=low, max_version=high)
            for name, (low, high) in SUPPORTED_FEATURES.items()
        ],
        finalized_features_epoch=node.image.offset,
        finalized_features=[
            FinalizedFeatureKey(name=name, max_version_level=level, min_version_level=level)
            for name, level in sorted(_finalized(node).items())
        ],
    )


def _finalized(node: Node) -> dict[str, int]:
    """What the cluster has agreed on; the level of the quorum is not kept in the image."""
    level = node.quorum.kraft_version
    return {**node.image.features, KRAFT_VERSION: level} if level else node.image.features


def _api_keys(node: Node, slot: Slot) -> list[ApiVersion]:
    """What is served on the listener that was asked."""
    unwanted = () if has_subscriptions(node) else TELEMETRY_KEYS
    return [
        ApiVersion(
            api_key=api.key,
            min_version=0 if api.key == PRODUCE_KEY else api.versions[0],
            max_version=api.versions[-1],
        )
        for api in slot.connection.apis.values()
        if api.key not in unwanted
    ]


API = Api(ApiVersionsRequest, range(5), handle, NOTHING, before_authentication=True)
