"""What ShareFetch and ShareAcknowledge have in common: who may ask, and how a request is refused as a whole."""

from __future__ import annotations

from typing import Final

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.node.node import Node
from penstock.core.node.serving.access import Operation, Resource
from penstock.core.node.serving.authorizing import Question
from penstock.core.node.serving.slots import Slot
from penstock.core.wire.api.share_acknowledge import ShareAcknowledgeRequest
from penstock.core.wire.api.share_fetch import ShareFetchRequest
from penstock.core.wire.schema import Response

MEMBER_ID_CHARS_MAX: Final = 36

ShareRequest = ShareFetchRequest | ShareAcknowledgeRequest


def check_member(node: Node, request: ShareRequest) -> None:
    if request.group_id is None:
        raise ApiError(ErrorCode.INVALID_REQUEST, "a group must be named")
    if not request.member_id or len(request.member_id) > MEMBER_ID_CHARS_MAX:
        raise ApiError(ErrorCode.INVALID_REQUEST, f"a member's id has 1 to {MEMBER_ID_CHARS_MAX} characters")


def refused(node: Node, request: ShareRequest, slot: Slot, error: ApiError) -> Response:
    node.error(slot.api.name, error.code)
    return slot.api.refuse(request, slot.version, error.code, str(error) or None)


def authorize(question: Question) -> Response | None:
    """The group at once; topics are looked at where they are read, as a session names them only once."""
    group_id = question.request.group_id
    if group_id is not None and not question.may(Operation.READ, Resource.GROUP, group_id):
        return question.refuse(ErrorCode.GROUP_AUTHORIZATION_FAILED)
    return None
