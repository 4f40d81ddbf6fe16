"""What makes a cluster unwell, one thing at a time."""

from __future__ import annotations

import pytest

from penstock.client.health import VOTER_BEHIND_MS_MAX, Health, State, assess, state_of
from penstock.client.metadata import PartitionView, TopicPartition, TopicView
from penstock.client.quorum import Member, Quorum, Registered

NOW_MS = 1_000_000
PLACE = TopicPartition("t", 0)


def partition(
    leader: int = 1, replicas: tuple[int, ...] = (1, 2, 3), in_sync: tuple[int, ...] = (1, 2, 3)
) -> PartitionView:
    return PartitionView(0, leader, 0, replicas, in_sync, ())


def quorum(leader: int = 1, **behind_ms: int) -> Quorum:
    voters = [Member(each, b"", 10, NOW_MS, NOW_MS - behind_ms.get(f"n{each}", 0)) for each in (1, 2, 3)]
    return Quorum(leader, 1, 10, tuple(voters), ())


def brokers(*fenced: int) -> list[Registered]:
    return [Registered(each, "h", 9092, None, each in fenced) for each in (1, 2, 3)]


def assessed(
    found: PartitionView,
    *,
    fenced: tuple[int, ...] = (),
    voters: Quorum | None = None,
    min_insync: int = 2,
    adding: tuple[int, ...] | None = None,
    full: tuple[int, ...] = (),
) -> Health:
    topics = [TopicView("t", b"", False, (found,))]
    moving = {} if adding is None else {PLACE: adding}
    return assess(topics, brokers(*fenced), voters or quorum(), {"t": min_insync}, moving, full)


def test_nothing_is_wrong() -> None:
    health = assessed(partition())
    assert health.is_healthy
    assert health == Health(1, (), (), (), (), (), (), (), (), (), ())


@pytest.mark.parametrize(
    ("health", "wrong"),
    [
        (assessed(partition(), voters=quorum(leader=-1)), {"controller": None}),
        (assessed(partition(), voters=quorum(n2=VOTER_BEHIND_MS_MAX + 1)), {"voters_behind": (2,)}),
        (assessed(partition(), fenced=(3,)), {"fenced": (3,)}),
        (assessed(partition(), full=(2,)), {"full": (2,)}),
        (assessed(partition(leader=-1)), {"offline": (PLACE,)}),
        (assessed(partition(in_sync=(1, 2)), fenced=()), {"under_replicated": (PLACE,), "idle": (3,)}),
        (
            assessed(partition(in_sync=(1,)), fenced=(2, 3)),
            {"under_min": (PLACE,), "under_replicated": (PLACE,), "fenced": (2, 3)},
        ),
    ],
)
def test_each_thing_that_can_be_wrong_is_named(health: Health, wrong: dict[str, object]) -> None:
    assert not health.is_healthy
    assert health == assessed(partition())._replace(**wrong)


def test_a_leader_elsewhere_and_a_move_are_told_and_are_no_illness() -> None:
    health = assessed(partition(leader=2, in_sync=(1, 2)), adding=(3,), fenced=())
    assert (health.unpreferred, health.moving, health.under_replicated) == ((PLACE,), (PLACE,), ())


def test_no_more_in_sync_replicas_are_asked_for_than_there_are() -> None:
    assert assessed(partition(replicas=(1,), in_sync=(1,))).under_min == ()


def test_a_voter_that_never_had_everything_is_behind() -> None:
    voters = quorum()
    members = (*voters.voters, Member(4, b"", 0, -1, -1))
    assert assessed(partition(), voters=voters._replace(voters=members)).voters_behind == (4,)


def test_what_a_broker_is_to_a_partition() -> None:
    found = PartitionView(0, 1, 0, (1, 2, 3, 4), (1, 2), (4,))
    states = [state_of(each, found, alive=(1, 2, 3, 4)) for each in range(1, 6)]
    assert states == [State.LEADER, State.IN_SYNC, State.OUT_OF_SYNC, State.OFFLINE, State.NONE]
    assert state_of(2, found, alive=(1,)) is State.OFFLINE


def test_lag_and_silence_are_measured_by_the_leader() -> None:
    voters = (Member(1, b"", 10, NOW_MS, NOW_MS), Member(2, b"", 7, NOW_MS, NOW_MS - 40))
    found = Quorum(1, 1, 7, voters, ())
    assert [found.lag(each) for each in voters] == [0, 3]
    assert [found.behind_ms(each) for each in voters] == [0, 40]
