"""Live groups that change their kind: members of both protocols come, go, hang and come back, and coordinators move."""

from collections import Counter
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from penstock.core.base.errors import ErrorCode
from penstock.core.groups.consumer import advancing, changing
from penstock.core.groups.settings import GroupSettings
from penstock.core.wire.api.consumer_group_describe import ConsumerGroupDescribeRequest
from penstock.core.wire.api.heartbeat import HeartbeatRequest
from penstock.core.wire.api.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from tests.groups.consumer.classic_players import ClassicPlayer
from tests.groups.consumer.players import GROUP, Player, beat
from tests.groups.world import World

QUIET_ROUNDS = 24
BEAT_MS = 3_000
AnyPlayer = Player | ClassicPlayer


def held_by(players: list[Any]) -> Counter[tuple[bytes, int]]:
    return Counter((topic, each) for player in players for topic, numbers in player.held.items() for each in numbers)


def go_on(world: World, *players: AnyPlayer, rounds: int = QUIET_ROUNDS) -> None:
    for _ in range(rounds):
        for player in players:
            player.beat()
        world.wait(BEAT_MS)


def kind_of(world: World) -> str:
    return world.shard.groups[GROUP].kind


def state_of(world: World) -> str:
    group: Any = world.shard.groups[GROUP]
    return str(group.state.value)


class Mixed(RuleBasedStateMachine):
    """Up to six processes; what they hold is what they read."""

    @initialize(is_eager=st.booleans(), policy=st.sampled_from(["bidirectional", "bidirectional", "upgrade"]))
    def begin(self, is_eager: bool, policy: str) -> None:
        self.world = World(GroupSettings(consumer_migration_policy=policy))
        self.is_eager = is_eager
        self.players: list[AnyPlayer] = []

    @precondition(lambda self: len(self.players) < 6)
    @rule(topics=st.sets(st.sampled_from(["orders", "payments"]), min_size=1), is_classic=st.booleans())
    def come(self, topics: set[str], is_classic: bool) -> None:
        self.players.append(
            ClassicPlayer(self.world, topics, is_eager=self.is_eager) if is_classic else Player(self.world, topics)
        )

    @rule(data=st.data(), rounds=st.integers(1, 3))
    def beat(self, data: st.DataObject, rounds: int) -> None:
        for player in self._one(data):
            for _ in range(rounds):
                player.beat()

    @rule(data=st.data())
    def leave(self, data: st.DataObject) -> None:
        for player in self._one(data):
            group: Any = self.world.shard.groups.get(GROUP)
            if player.member_id and group is not None and player.member_id in group.members:
                player.leave()
            elif isinstance(player, ClassicPlayer):
                player.silence()
            self.players.remove(player)

    @rule(data=st.data())
    def hang(self, data: st.DataObject) -> None:
        """It says nothing for longer than a session; the others go on. It reads nothing that it may not know of."""
        for player in self._one(data):
            if isinstance(player, ClassicPlayer):
                player.silence()
            else:
                player.held = {}
                player.epoch, player.member_id = 0, ""
            go_on(self.world, *[other for other in self.players if other is not player], rounds=16)

    @rule(milliseconds=st.sampled_from([100, 1_000, 3_000]))
    def wait(self, milliseconds: int) -> None:
        self.world.wait(milliseconds)

    @rule()
    def restart(self) -> None:
        self.world.restart()

    @rule()
    def settle(self) -> None:
        """All beat for a while: then everything that somebody reads is read."""
        go_on(self.world, *self.players)
        if not self.players:
            return
        assert state_of(self.world) == "Stable"
        counts = self.world.topics.counts
        read = {topic for player in self.players for topic in player.topics}
        held = Counter(self.world.topics.name_of(topic) for topic, _ in held_by(self.players).elements())
        assert held == {topic: counts[topic] for topic in read}
        if self.world.settings.downgrades and all(isinstance(each, ClassicPlayer) for each in self.players):
            assert kind_of(self.world) == "classic"

    @invariant()
    def nobody_reads_what_another_one_does(self) -> None:
        held = held_by(getattr(self, "players", []))
        assert not held or max(held.values()) == 1

    def _one(self, data: st.DataObject) -> list[AnyPlayer]:
        if not self.players:
            return []
        return [self.players[data.draw(st.integers(0, len(self.players) - 1))]]


def test_members_of_both_protocols() -> None:
    run_state_machine_as_test(Mixed)  # type: ignore[no-untyped-call]


def test_a_group_goes_to_the_other_kind_and_back() -> None:
    """Nobody loses his place, and generations go on counting."""
    world = World()
    old = ClassicPlayer(world, {"orders"})
    go_on(world, old, rounds=4)
    assert (kind_of(world), old.count, old.generation) == ("classic", 4, 1)
    new = Player(world, {"orders"})
    new.beat()
    assert (kind_of(world), state_of(world), old.count, new.count) == ("consumer", "Reconciling", 4, 0)
    world.restart()
    go_on(world, old, new, rounds=6)
    assert (state_of(world), old.count, new.count) == ("Stable", 2, 2)
    assert ErrorCode.UNKNOWN_MEMBER_ID not in old.codes
    described: Any = world.answers[world.ask(ConsumerGroupDescribeRequest(group_ids=[GROUP]), 1)]
    assert sorted(each.member_type for each in described.groups[0].members) == [0, 1]
    epoch = old.generation
    new.leave()
    world.wait(100)
    assert (kind_of(world), state_of(world)) == ("classic", "PreparingRebalance")
    go_on(world, old, rounds=4)
    assert (kind_of(world), state_of(world), old.count) == ("classic", "Stable", 4)
    assert old.generation > epoch
    assert not {ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION} & {*old.codes}


def test_who_waits_for_a_generation_hears_that_the_group_is_another_one() -> None:
    world = World()
    first = ClassicPlayer(world, {"orders"})
    first.beat()
    assert world.unanswered()
    Player(world, {"orders"}).beat()
    assert not world.unanswered()
    first.beat()
    assert first.codes[1] is ErrorCode.REBALANCE_IN_PROGRESS


def test_members_keep_what_they_have_where_an_assignment_was_given_up() -> None:
    """The coordinator has forgotten it; cooperative members have said it when they joined."""
    world = World()
    one, two = ClassicPlayer(world, {"orders"}), ClassicPlayer(world, {"orders"})
    go_on(world, one, two, rounds=8)
    third, fourth = ClassicPlayer(world, {"orders"}), ClassicPlayer(world, {"orders"})
    for player in (third, one, two, fourth):
        player.beat()
    group: Any = world.shard.groups[GROUP]
    assert not any(member.assignment for member in group.members.values())
    new = Player(world, {"orders"})
    new.beat()
    assert (kind_of(world), one.count + two.count) == ("consumer", 4)
    assert max(held_by([one, two, new]).values()) == 1


def test_sessions_go_on_through_a_change() -> None:
    world = World()
    old, new = ClassicPlayer(world, {"orders"}), Player(world, {"orders"})
    go_on(world, old, rounds=4)
    go_on(world, new, rounds=8)
    assert new.count == 4
    world = World()
    one = ClassicPlayer(world, {"orders"}, instance="i1")
    former = Player(world, {"orders"}, instance="i2")
    go_on(world, one, former, rounds=8)
    former.leave(-2)
    back = ClassicPlayer(world, {"orders"}, instance="i2")
    back.beat()
    world.wait(100)
    assert (kind_of(world), state_of(world)) == ("classic", "Stable")
    go_on(world, back, rounds=8)
    assert back.count == 4


def commit(world: World, player: ClassicPlayer, generation: int) -> int:
    partitions = [OffsetCommitRequestPartition(partition_index=0, committed_offset=5)]
    request = OffsetCommitRequest(
        group_id=GROUP,
        generation_id_or_member_epoch=generation,
        member_id=player.member_id,
        topics=[OffsetCommitRequestTopic(name="orders", partitions=partitions)],
    )
    answer: Any = world.answers[world.ask(request, 8)]
    code: int = answer.topics[0].partitions[0].error_code
    return code


def test_offsets_stay_and_members_of_the_classic_protocol_commit_in_their_epoch() -> None:
    world = World()
    old, new = ClassicPlayer(world, {"orders"}), Player(world, {"orders"})
    go_on(world, old, rounds=4)
    assert commit(world, old, old.generation) == ErrorCode.NONE
    new.beat()
    go_on(world, old, new, rounds=6)
    assert world.shard.offsets.of_group(GROUP)["orders"][0].offset == 5
    assert commit(world, old, old.generation) == ErrorCode.NONE
    assert commit(world, old, old.generation + 1) == ErrorCode.ILLEGAL_GENERATION


@pytest.mark.parametrize(("policy", "up", "down"), [("upgrade", 1, 0), ("downgrade", 0, 1), ("disabled", 0, 0)])
def test_the_policy_says_which_way_a_group_may_go(policy: str, up: int, down: int) -> None:
    world = World(GroupSettings(consumer_migration_policy=policy))
    old, new = ClassicPlayer(world, {"orders"}), Player(world, {"orders"})
    go_on(world, old, rounds=4)
    assert new.beat() is (ErrorCode.NONE if up else ErrorCode.GROUP_ID_NOT_FOUND)
    world = World(GroupSettings(consumer_migration_policy=policy))
    old, new = ClassicPlayer(world, {"orders"}), Player(world, {"orders"})
    go_on(world, new, rounds=2)
    if policy == "disabled":
        with pytest.raises(AssertionError):
            old.beat()
        assert old.codes == [ErrorCode.INCONSISTENT_GROUP_PROTOCOL]
        return
    go_on(world, new, old, rounds=6)
    new.leave()
    go_on(world, old, rounds=6)
    assert (kind_of(world), old.count) == ("classic" if down else "consumer", 4)


def test_who_is_told_to_join_and_does_not_loses_its_place() -> None:
    world = World()
    old, new = ClassicPlayer(world, {"orders"}), Player(world, {"orders"})
    go_on(world, old, rounds=4)
    new.beat()
    old._ask("heartbeat", old_beat := _beat_of(old), 3)
    for _ in range(25):
        world.wait(BEAT_MS)
        world.ask(old_beat, 3)
        new.beat()
    assert new.count == 4


def _beat_of(player: ClassicPlayer) -> Any:
    return HeartbeatRequest(group_id=GROUP, **player._me())


def test_a_static_member_takes_its_place_in_the_other_protocol() -> None:
    """As in a rolling restart: where all have what they should, nobody has to join anew when the last one is back."""
    world = World()
    one = ClassicPlayer(world, {"orders"}, instance="i1")
    two = ClassicPlayer(world, {"orders"}, instance="i2")
    go_on(world, one, two, rounds=8)
    had = two.held
    after = Player(world, {"orders"}, instance="i2")
    go_on(world, one, after, rounds=6)
    assert (kind_of(world), after.held) == ("consumer", had)
    group: Any = world.shard.groups[GROUP]
    epoch = group.epoch
    after.leave(-2)
    back = ClassicPlayer(world, {"orders"}, instance="i2")
    go_on(world, one, back, rounds=6)
    group = world.shard.groups[GROUP]
    assert (kind_of(world), back.held, group.generation) == ("classic", had, epoch)


def test_only_what_we_can_read_is_changed() -> None:
    world = World()
    old = ClassicPlayer(world, {"orders"})
    go_on(world, old, rounds=4)
    group: Any = world.shard.groups[GROUP]
    (member,) = group.members.values()
    given, member.assignment = member.assignment, member.assignment[:-4] + b"\0\0\0\1x"
    answer = beat(
        world, member_id="m", rebalance_timeout_ms=60_000, subscribed_topic_names=["orders"], topic_partitions=[]
    )
    assert "custom assignor" in (answer.error_message or "")
    member.assignment, group.protocol_type = given, "connect"
    assert Player(world, {"orders"}).beat() is ErrorCode.GROUP_ID_NOT_FOUND
    assert kind_of(world) == "classic"


def mixed_group(is_eager: bool = False) -> tuple[World, list[AnyPlayer]]:
    """Two of the classic protocol, and one that comes while they read."""
    world = World()
    old = [ClassicPlayer(world, {"orders"}, is_eager=is_eager) for _ in range(2)]
    go_on(world, *old, rounds=8)
    new = Player(world, {"orders"})
    new.beat()
    world.wait(BEAT_MS)
    new.beat()
    return world, [*old, new]


def test_an_upgrade_that_forgets_a_member_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    _, players = mixed_group()
    assert max(held_by(players).values()) == 1
    right = changing._members
    monkeypatch.setattr(changing, "_members", lambda topics, group: right(topics, group)[1:])
    _, players = mixed_group()
    assert max(held_by(players).values()) == 2


def test_an_upgrade_that_forgets_what_members_have_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changing, "_held", lambda topics, group, words: {each: {} for each in group.members})
    _, players = mixed_group()
    assert max(held_by(players).values()) == 2


def test_a_partition_that_is_not_free_is_given_to_nobody_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(advancing.Place, "is_free", lambda self, group: lambda where: True)
    _, players = mixed_group()
    assert max(held_by(players).values()) == 2
