"""UpdateFeatures (57). Version 1 names directions and can ask without doing, 2 answers for the whole only."""

from __future__ import annotations

from penstock.core.apis.places import by_plan
from penstock.core.base.errors import ApiError
from penstock.core.metadata.feature_updates import plan_features
from penstock.core.metadata.features import KRAFT_VERSION
from penstock.core.node.controller.plans import Planned
from penstock.core.node.controller.term import Term
from penstock.core.node.serving.access import Operation, on_cluster
from penstock.core.node.serving.api import Api
from penstock.core.wire.api.update_features import UpdateFeaturesRequest
from penstock.core.wire.stored.cluster_metadata import NoOpRecord


def plan(term: Term, request: UpdateFeaturesRequest, version: int) -> Planned:
    others = set(term.around.voters()) - {term.around.node_id}
    level = term.around.kraft_version()
    records, answer = plan_features(term.image, term.settings, others, request, version, level)
    asks_quorum = any(
        update.feature == KRAFT_VERSION and update.max_version_level for update in request.feature_updates
    )
    if answer.error_code or request.validate_only or not asks_quorum:
        return records, answer
    if code := term.around.upgrade_voters():
        raise ApiError(code, "Not every voter has told its directory and that it supports kraft.version 1.")
    # Whoever asked hears of it once something that stands behind it is committed.
    return [*records, NoOpRecord()], answer


API = Api(UpdateFeaturesRequest, range(3), by_plan(plan), on_cluster(Operation.ALTER))
