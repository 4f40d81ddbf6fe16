"""Requests that are decided at once: image, settings and request give records and an answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.metadata.alter_partition import plan_alteration
from penstock.core.metadata.elections import electing_everywhere, plan_elections
from penstock.core.metadata.feature_updates import plan_features
from penstock.core.metadata.features import CONTROLLER_REGISTRATION_LEVEL_MIN, KRAFT_VERSION, METADATA_VERSION
from penstock.core.metadata.producer_ids import plan_producer_ids
from penstock.core.metadata.reassignments import list_reassignments, plan_reassignments
from penstock.core.metadata.registration import plan_controller
from penstock.core.node.controller.ports import Answered
from penstock.core.node.controller.refusals import refused
from penstock.core.node.controller.term import Term
from penstock.core.wire.api.allocate_producer_ids import AllocateProducerIdsRequest
from penstock.core.wire.api.alter_partition import AlterPartitionRequest
from penstock.core.wire.api.alter_partition_reassignments import AlterPartitionReassignmentsRequest
from penstock.core.wire.api.controller_registration import (
    ControllerRegistrationRequest,
    ControllerRegistrationResponse,
)
from penstock.core.wire.api.elect_leaders import ElectLeadersRequest
from penstock.core.wire.api.list_partition_reassignments import ListPartitionReassignmentsRequest
from penstock.core.wire.api.update_features import UpdateFeaturesRequest
from penstock.core.wire.schema import Request, Response, StoredRecord
from penstock.core.wire.stored.cluster_metadata import NoOpRecord

Planned = tuple[list[StoredRecord], Response]
Plan = Callable[[Term, Any, int], Planned]


def carry_out(term: Term, plan: Plan, request: Request, version: int, done: Answered) -> None:
    """Answer once what was planned is committed."""
    records, answer = plan(term, request, version)

    def committed(code: ErrorCode) -> None:
        done(answer if code is ErrorCode.NONE else refused(request, version, code))

    term.commit(records, committed)


def elect_leaders(term: Term, request: ElectLeadersRequest, version: int, done: Answered) -> None:
    """A request that names no partition means all of them, which may take some turns."""
    if request.topic_partitions is not None:
        carry_out(term, _elect_named, request, version, done)
        return
    sweep, answer = electing_everywhere(term.image, term.settings, request)

    def swept(code: ErrorCode) -> None:
        done(answer() if code is ErrorCode.NONE else refused(request, version, code))

    term.sweep([sweep], swept)


def _elect_named(term: Term, request: ElectLeadersRequest, version: int) -> Planned:
    return plan_elections(term.image, term.settings, request)


def _alter_partition(term: Term, request: AlterPartitionRequest, version: int) -> Planned:
    return plan_alteration(term.image, term.settings, request, version)


def _allocate(term: Term, request: AllocateProducerIdsRequest, version: int) -> Planned:
    return plan_producer_ids(term.image, request)


def _reassign(term: Term, request: AlterPartitionReassignmentsRequest, version: int) -> Planned:
    return plan_reassignments(term.image, term.settings, request)


def _list_moves(term: Term, request: ListPartitionReassignmentsRequest, version: int) -> Planned:
    return [], list_reassignments(term.image, request)


def _update_features(term: Term, request: UpdateFeaturesRequest, version: int) -> Planned:
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


def _register_controller(term: Term, request: ControllerRegistrationRequest, version: int) -> Planned:
    if term.image.features.get(METADATA_VERSION, 0) < CONTROLLER_REGISTRATION_LEVEL_MIN:
        raise ApiError(ErrorCode.UNSUPPORTED_VERSION, f"This needs {METADATA_VERSION} 15 or later.")
    return plan_controller(request), ControllerRegistrationResponse(error_message=None)


PLANS: dict[type[Request], Plan] = {
    AlterPartitionRequest: _alter_partition,
    AllocateProducerIdsRequest: _allocate,
    AlterPartitionReassignmentsRequest: _reassign,
    ListPartitionReassignmentsRequest: _list_moves,
    UpdateFeaturesRequest: _update_features,
    ControllerRegistrationRequest: _register_controller,
}
