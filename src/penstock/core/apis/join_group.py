"""JoinGroup (11). Versions 0 to 9: 4 asks newcomers to come back with an id, 5 knows static members, 9 may tell the
leader to leave the assignment as it is.
"""

from __future__ import annotations

from penstock.core.apis.asking import ask
from penstock.core.apis.places import by_coordinator
from penstock.core.base.errors import ErrorCode
from penstock.core.node.serving.access import Operation, on_groups
from penstock.core.node.serving.api import Api
from penstock.core.wire.api.join_group import JoinGroupRequest, JoinGroupResponse


def refuse(request: JoinGroupRequest, version: int, code: ErrorCode, message: str | None) -> JoinGroupResponse:
    """Who it is is said again."""
    return JoinGroupResponse(error_code=code, member_id=request.member_id)


API = Api(JoinGroupRequest, range(10), by_coordinator(ask), on_groups(Operation.READ, "group_id"), refuse=refuse)
