"""ShareFetch (78). Versions 1 and 2: a member of a share group gets records that nobody else has (KIP-932).

It may acknowledge others by the way. Version 2 can ask for no more records than a number (KIP-1206), and prolong locks
(KIP-1222).
"""

from __future__ import annotations

from functools import partial

from penstock.core.apis.share_groups import where_served
from penstock.core.apis.sharing_requests import authorize, check_member, refused
from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.node.node import Node
from penstock.core.node.serving.access import Operation, on_groups, on_topics
from penstock.core.node.serving.api import PENDING, Answer, Api
from penstock.core.node.serving.slots import Slot
from penstock.core.wire.api.share_fetch import ShareFetchRequest


def handle(node: Node, request: ShareFetchRequest, slot: Slot) -> Answer:
    try:
        check_member(node, request)
        _check_renewal(request)
        return node.sharing.fetch(request, slot)
    except ApiError as error:
        if error.code is ErrorCode.SHARE_SESSION_LIMIT_REACHED and request.max_wait_ms > 0:
            # Who is turned away comes again at once: as late as if there had been nothing to read.
            tell = partial(_tell, node, request, slot, error)
            node.deadlines.at(node.now_ms + request.max_wait_ms, tell)
            return PENDING
        return refused(node, request, slot, error)


def _tell(node: Node, request: ShareFetchRequest, slot: Slot, error: ApiError) -> None:
    if not slot.gone:
        slot.reply(refused(node, request, slot, error))


def _check_renewal(request: ShareFetchRequest) -> None:
    """Who prolongs locks has no time to wait for records."""
    if request.is_renew_ack and any((request.max_bytes, request.min_bytes, request.max_records, request.max_wait_ms)):
        raise ApiError(ErrorCode.INVALID_REQUEST, "who renews fetches nothing: bytes, records and wait must be 0")


API = Api(
    ShareFetchRequest,
    range(1, 3),
    where_served(handle),
    on_groups(Operation.READ, "group_id") + on_topics(Operation.READ, "topics.topic_id"),
    authorize=authorize,
)
