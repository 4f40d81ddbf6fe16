"""Why a group is rebalancing, as it is described."""

from penstock.client.group_progress import SETTLED, of_classic, of_consumers
from penstock.core.wire.api.consumer_group_describe import Assignment, DescribedGroup, Member, TopicPartitions


def has(*numbers: int) -> Assignment:
    topics = [TopicPartitions(topic_id=bytes(16), topic_name="t", partitions=list(numbers))] if numbers else []
    return Assignment(topic_partitions=topics)


def member(name: str, epoch: int, given: Assignment, target: Assignment) -> Member:
    return Member(member_id=name, member_epoch=epoch, assignment=given, target_assignment=target)


def group(*members: Member, epoch: int = 2, target: int = 2) -> DescribedGroup:
    return DescribedGroup(group_id="g", group_epoch=epoch, assignment_epoch=target, members=list(members))


def test_who_holds_a_group_up_is_named_with_what_it_owes() -> None:
    found = of_consumers(
        group(
            member("slow", 1, has(0, 1), has(0)),
            member("silent", 1, has(2), has(2)),
            member("new", 2, has(), has(1)),
        )
    )
    assert found.why == "2 of 3 members are not at epoch 2 yet, 1 wait for theirs"
    assert found.held_up_by == ("slow (has to give up t-1)", "silent (at epoch 1)")


def test_a_group_that_has_changed_waits_for_its_target() -> None:
    found = of_consumers(group(member("m", 2, has(0), has(0)), epoch=3))
    assert found.why == "the group is at epoch 3, its assignment at 2: the next heartbeat makes it anew"
    assert found.held_up_by == ()


def test_nothing_is_said_of_groups_at_rest() -> None:
    assert of_consumers(group(member("m", 2, has(0), has(0)))) == SETTLED
    assert of_consumers(group(epoch=3)) == SETTLED
    assert of_classic("Stable") == SETTLED


def test_classic_groups_say_what_they_wait_for() -> None:
    assert "join again" in (of_classic("PreparingRebalance").why or "")
    assert "leads" in (of_classic("CompletingRebalance").why or "")
