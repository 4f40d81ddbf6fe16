"""Members that say much of themselves, leaders that assign much, and requests about groups that are larger still."""

from __future__ import annotations

from contextlib import ExitStack

from penstock.core.base.errors import ErrorCode
from penstock.core.wire.api.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from penstock.core.wire.api.sync_group import SyncGroupRequest, SyncGroupRequestAssignment, SyncGroupResponse
from penstock.core.wire.frames import parse_response_header
from tests.robustness.hostile.target import Case, Peer, Target, frame_of

V = 3
FITS, TOO_LARGE, FAR_TOO_LARGE = 1_000_000, 15_000_000, 40_000_000
"""What a batch of the offsets topic takes, what a request takes, and more than that."""
GROUPS, GROUPS_EACH = 300, 5
PATIENCE_MS = 6_000


def join(group: str, size: int) -> JoinGroupRequest:
    return JoinGroupRequest(
        group_id=group,
        session_timeout_ms=PATIENCE_MS,
        rebalance_timeout_ms=PATIENCE_MS,
        member_id="",
        protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol(name="range", metadata=bytes(size))],
    )


def sync(group: str, member: str, generation: int, size: int) -> SyncGroupRequest:
    given = [SyncGroupRequestAssignment(member_id=member, assignment=bytes(size))]
    return SyncGroupRequest(group_id=group, generation_id=generation, member_id=member, assignments=given)


def joined(peer: Peer) -> JoinGroupResponse:
    answer = peer.answer()
    assert answer is not None
    _, position = parse_response_header(answer, JoinGroupResponse.KEY, V)
    return JoinGroupResponse.decode(answer, V, position)


def far_too_large(target: Target) -> None:
    for request in (join("g", FAR_TOO_LARGE), sync("g", "m", 1, FAR_TOO_LARGE)):
        with target.connect() as peer:
            peer.send(frame_of(request, V))
            assert peer.answer() is None
    with target.connect() as peer:
        assert peer.send(frame_of(join("g", TOO_LARGE), V))
        assert joined(peer).error_code == ErrorCode.UNKNOWN_SERVER_ERROR


def many_large_members(target: Target) -> None:
    """Each in a group of its own. Nobody reads the answers but the last one, so a connection asks only a few times."""
    with ExitStack() as stack:
        peers = [stack.enter_context(target.connect()) for _ in range(GROUPS // GROUPS_EACH)]
        for number in range(GROUPS):
            assert peers[number // GROUPS_EACH].send(frame_of(join(f"large-{number}", FITS), V))
        assert joined(peers[-1]).error_code in (ErrorCode.NONE, ErrorCode.COORDINATOR_NOT_AVAILABLE)


def large_assignments(target: Target) -> None:
    with target.connect() as peer:
        assert peer.send(frame_of(join("assigning", 100), V))
        member = joined(peer)
        assert member.error_code == ErrorCode.NONE
        assert peer.send(frame_of(sync("assigning", member.member_id, member.generation_id, TOO_LARGE), V))
        answer = peer.answer()
        assert answer is not None
        _, position = parse_response_header(answer, SyncGroupResponse.KEY, V)
        assert SyncGroupResponse.decode(answer, V, position).error_code == ErrorCode.UNKNOWN_SERVER_ERROR


CASES: dict[str, Case] = {"groups, far too large": far_too_large, "large members": many_large_members}
LONG_CASES: dict[str, Case] = {"large assignments": large_assignments}
