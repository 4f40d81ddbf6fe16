"""Share sessions at one node: their epochs, how many there may be, and what becomes of records when they end."""

from __future__ import annotations

from penstock.core.base.errors import ErrorCode
from tests.node.sharing import ACCEPT, Member, begun, publish


def test_a_connection_that_closes_gives_all_back() -> None:
    world = begun()
    publish(world, b"a")
    one, other = Member(world, "one"), Member(world, "other")
    one.take(0)
    other.send(0, max_wait_ms=10_000)
    one.client.close()
    assert len(other.heard()) == 1
    assert len(world.node.sharing.sessions) == 1


def test_a_session_that_ends_gives_all_back() -> None:
    world = begun()
    publish(world, b"a", b"b")
    one, other = Member(world, "one"), Member(world, "other")
    one.take(0)
    other.send(0, max_wait_ms=10_000)
    assert one.say((0, 0, [ACCEPT]), epoch=-1).responses[0].partitions[0].error_code == 0
    (answer,) = other.heard()
    assert [each.first_offset for each in answer.responses[0].partitions[0].acquired_records] == [1]


def test_of_a_group_without_members_nothing_is_kept() -> None:
    world = begun()
    publish(world, b"a")
    member = Member(world)
    member.take(0)
    assert world.node.sharing.share_count == 1
    member.client.close()
    world.settle()
    world.run_due()
    assert (world.node.sharing.share_count, len(world.node.sharing.sessions)) == (0, 0)
    assert Member(world).take(0) == {0: [(0, 0, 2)]}


def test_epochs_of_sessions() -> None:
    world = begun()
    member = Member(world)
    member.epoch = 1
    assert member.fetch(0).error_code == ErrorCode.SHARE_SESSION_NOT_FOUND
    member.epoch = 0
    assert member.fetch(0).error_code == 0
    member.epoch = 5
    assert member.fetch(0).error_code == ErrorCode.INVALID_SHARE_SESSION_EPOCH
    assert member.say((0, 0, [ACCEPT]), epoch=0).error_code == ErrorCode.INVALID_SHARE_SESSION_EPOCH
    assert member.say((0, 0, [ACCEPT]), epoch=7).error_code == ErrorCode.INVALID_SHARE_SESSION_EPOCH
    member.epoch = 0
    refused = member.fetch(said={0: [(0, 0, [ACCEPT])]})
    assert refused.error_code == ErrorCode.INVALID_REQUEST, "a new session has nothing to acknowledge"


def test_sessions_are_limited_and_who_is_turned_away_waits() -> None:
    world = begun(settings={"group.share.max.share.sessions": "1"})
    Member(world, "one").fetch(0)
    other = Member(world, "other")
    other.send(0, max_wait_ms=1_000)
    assert other.heard() == []
    world.pass_time(1_000)
    (answer,) = other.heard()
    assert answer.error_code == ErrorCode.SHARE_SESSION_LIMIT_REACHED
