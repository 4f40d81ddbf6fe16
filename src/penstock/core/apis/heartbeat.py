"""Heartbeat (12). Versions 0 to 4: a member is alive; 3 names static members."""

from __future__ import annotations

from penstock.core.apis.asking import ask
from penstock.core.apis.places import by_coordinator
from penstock.core.base.errors import ErrorCode
from penstock.core.node.serving.access import Operation, on_groups
from penstock.core.node.serving.api import Api
from penstock.core.wire.api.heartbeat import HeartbeatRequest, HeartbeatResponse


def refuse(request: HeartbeatRequest, version: int, code: ErrorCode, message: str | None) -> HeartbeatResponse:
    """While the log is read nobody's session can end, so there is nothing to worry a member with."""
    loading = code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    return HeartbeatResponse(error_code=ErrorCode.NONE if loading else code)


API = Api(HeartbeatRequest, range(5), by_coordinator(ask), on_groups(Operation.READ, "group_id"), refuse=refuse)
