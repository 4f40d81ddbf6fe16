"""What members say is kept in memory: groups share what there is of it, and who says little is always let in."""

from __future__ import annotations

import pytest

from penstock.core.base.errors import ErrorCode
from penstock.core.groups.member_memory import COUNTED_ANEW_MS, LITTLE_BYTES, MemberMemory
from penstock.core.wire.api.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from penstock.core.wire.api.leave_group import LeaveGroupRequest
from penstock.core.wire.api.sync_group import SyncGroupRequest, SyncGroupRequestAssignment, SyncGroupResponse
from tests.groups.world import World

LARGE = 3 * LITTLE_BYTES
BYTES_MAX = 2 * LARGE + 1_000
"""For two large members."""
PATIENCE_MS, JOINED_MS = 60_000, 3_000
FULL = ErrorCode.COORDINATOR_NOT_AVAILABLE


@pytest.fixture
def told() -> list[str]:
    return []


@pytest.fixture
def world(told: list[str]) -> World:
    return World(memory=MemberMemory(BYTES_MAX, lambda: told.append("full")))


def join(world: World, group: str, size: int = LARGE, member: str = "", instance: str | None = None) -> tuple[int, str]:
    """The code, and the member id."""
    request = JoinGroupRequest(
        group_id=group,
        session_timeout_ms=PATIENCE_MS,
        rebalance_timeout_ms=PATIENCE_MS,
        member_id=member,
        group_instance_id=instance,
        protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol(name="range", metadata=bytes(size))],
    )
    token = world.ask(request, 5 if instance else 3)
    world.wait(JOINED_MS)
    answer = world.answers[token]
    assert isinstance(answer, JoinGroupResponse)
    return answer.error_code, answer.member_id


def leave(world: World, group: str, member: str) -> None:
    world.ask(LeaveGroupRequest(group_id=group, member_id=member), 0)


def counted(world: World) -> int:
    return sum(group.size_bytes for group in world.shard.groups.values())


def test_who_says_much_comes_again_when_there_is_no_room_and_who_says_little_does_not(
    world: World, told: list[str]
) -> None:
    _, first = join(world, "a")
    join(world, "b", instance="one")
    assert join(world, "c")[0] == FULL
    assert told
    code, little = join(world, "d", LITTLE_BYTES - 10)
    assert code == ErrorCode.NONE
    assert counted(world) <= BYTES_MAX + LITTLE_BYTES
    assert join(world, "a", member=first)[0] == ErrorCode.NONE, "what it says is kept already"
    assert join(world, "b", instance="one")[0] == ErrorCode.NONE
    assert join(world, "a", 2 * LARGE, member=first)[0] == FULL
    leave(world, "a", first)
    leave(world, "d", little)
    world.wait(COUNTED_ANEW_MS)
    assert join(world, "c")[0] == ErrorCode.NONE


def test_silent_members_and_lost_coordinators_make_room(world: World) -> None:
    join(world, "a")
    join(world, "b")
    world.wait(2 * PATIENCE_MS)
    assert join(world, "c")[0] == ErrorCode.NONE
    join(world, "d")
    assert join(world, "e")[0] == FULL
    world.restart()
    world.wait(COUNTED_ANEW_MS)
    assert join(world, "e")[0] == ErrorCode.NONE, "nobody has brought what they were before to a record"


def test_assignments_count(world: World) -> None:
    _, member = join(world, "a", 100)
    request = SyncGroupRequest(
        group_id="a",
        generation_id=1,
        member_id=member,
        assignments=[SyncGroupRequestAssignment(member_id=member, assignment=bytes(BYTES_MAX))],
    )
    refused = world.answers[world.ask(request, 3)]
    assert isinstance(refused, SyncGroupResponse)
    assert refused.error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    _, member = join(world, "a", 100, member)
    request.generation_id, request.assignments[0].assignment = 2, bytes(LARGE)
    taken = world.answers[world.ask(request, 3)]
    assert isinstance(taken, SyncGroupResponse)
    assert taken.error_code == ErrorCode.NONE
    assert counted(world) >= LARGE
    world.restart()
    assert counted(world) >= LARGE, "it is on record"
    assert world.memory.taken_bytes >= counted(world)
