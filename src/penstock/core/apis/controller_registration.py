"""ControllerRegistration (70), for controllers. Version 0."""

from __future__ import annotations

from penstock.core.apis.places import by_plan
from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.metadata.features import CONTROLLER_REGISTRATION_LEVEL_MIN, METADATA_VERSION
from penstock.core.metadata.registration import plan_controller
from penstock.core.node.controller.plans import Planned
from penstock.core.node.controller.term import Term
from penstock.core.node.serving.access import CLUSTER_ACTION
from penstock.core.node.serving.api import Api
from penstock.core.wire.api.controller_registration import (
    ControllerRegistrationRequest,
    ControllerRegistrationResponse,
)


def plan(term: Term, request: ControllerRegistrationRequest, version: int) -> Planned:
    if term.image.features.get(METADATA_VERSION, 0) < CONTROLLER_REGISTRATION_LEVEL_MIN:
        raise ApiError(ErrorCode.UNSUPPORTED_VERSION, f"This needs {METADATA_VERSION} 15 or later.")
    return plan_controller(request), ControllerRegistrationResponse(error_message=None)


API = Api(ControllerRegistrationRequest, range(1), by_plan(plan, is_forwarded=False), CLUSTER_ACTION)
