"""Members that come, go, hang and come back: each partition has one reader, and all are read once it is quiet."""

from collections import Counter
from collections.abc import Callable
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
from penstock.core.groups.consumer import advancing
from penstock.core.groups.consumer.group import GroupState
from penstock.core.groups.settings import GroupSettings, MemberSettings
from penstock.core.rsm.machine import TopicChanges
from penstock.core.wire.api.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from tests.groups.consumer.players import Player, beat, group_of
from tests.groups.world import Token, World

QUIET_ROUNDS = 8
BEAT_MS = 5_000


class Members(RuleBasedStateMachine):
    """Up to six processes; what they hold is what they read."""

    @initialize(interval=st.sampled_from([0, 1_000, 20_000]))
    def begin(self, interval: int) -> None:
        self.world = World(GroupSettings(consumer=lambda _: MemberSettings(assignment_interval_ms=interval)))
        self.players: list[Player] = []

    @precondition(lambda self: len(self.players) < 6)
    @rule(
        topics=st.sets(st.sampled_from(["orders", "payments", "later"]), min_size=1),
        assignor=st.sampled_from([None, "uniform", "range"]),
    )
    def come(self, topics: set[str], assignor: str | None) -> None:
        self.players.append(Player(self.world, topics, assignor=assignor))

    @rule(data=st.data())
    def beat(self, data: st.DataObject) -> None:
        self._any(data, Player.beat)

    @rule(data=st.data(), topics=st.sets(st.sampled_from(["orders", "payments"]), min_size=1))
    def read_others(self, data: st.DataObject, topics: set[str]) -> None:
        self._any(data, lambda player: setattr(player, "topics", topics))

    @rule(data=st.data())
    def leave(self, data: st.DataObject) -> None:
        def go(player: Player) -> None:
            if player.member_id and player.member_id in group_of(self.world).members:
                player.leave()
            self.players.remove(player)

        self._any(data, go)

    @rule(data=st.data())
    def hang(self, data: st.DataObject) -> None:
        """It says nothing for longer than a session; the others go on. It reads nothing that it may not know of."""

        def silence(player: Player) -> None:
            player.held = {}
            player.epoch, player.member_id = 0, ""
            for _ in range(10):
                self.world.wait(BEAT_MS)
                for other in self.players:
                    if other is not player:
                        other.beat()

        self._any(data, silence)

    @rule(milliseconds=st.sampled_from([100, 1_000, 5_000]))
    def wait(self, milliseconds: int) -> None:
        self.world.wait(milliseconds)

    @rule()
    def grow(self) -> None:
        if self.world.topics.counts["orders"] < 8:
            self.world.topics.counts["orders"] += 1
            self.world.sweep(self.world.shard.topics_changed(TopicChanges({}, frozenset({"orders"}))))

    @rule()
    def restart(self) -> None:
        self.world.restart()

    @rule()
    def settle(self) -> None:
        """All beat for a while: then everything that somebody reads is read."""
        for _ in range(QUIET_ROUNDS):
            self.world.wait(BEAT_MS)
            for player in self.players:
                player.beat()
        if self.players:
            assert group_of(self.world).state is GroupState.STABLE
        counts = self.world.topics.counts
        read = {topic for player in self.players for topic in player.topics if topic in counts}
        held = Counter(
            self.world.topics.name_of(topic)
            for player in self.players
            for topic, each in player.held.items()
            for _ in each
        )
        assert held == {topic: counts[topic] for topic in read}

    @invariant()
    def nobody_reads_what_another_one_does(self) -> None:
        held = Counter(
            (topic, each)
            for player in getattr(self, "players", ())
            for topic, numbers in player.held.items()
            for each in numbers
        )
        assert not held or max(held.values()) == 1

    def _any(self, data: st.DataObject, act: Callable[[Player], Any]) -> None:
        if self.players:
            act(data.draw(st.sampled_from(range(len(self.players))).map(self.players.__getitem__)))


def test_members() -> None:
    run_state_machine_as_test(Members)  # type: ignore[no-untyped-call]


def test_a_partition_that_is_not_given_up_is_given_to_nobody_else(monkeypatch: pytest.MonkeyPatch) -> None:
    """The machine above fails where owners are not looked at."""
    monkeypatch.setattr(advancing.Place, "is_free", lambda self, group: lambda where: True)
    world = World()
    first, second = Player(world, {"orders"}), Player(world, {"orders"})
    first.beat()
    world.wait(BEAT_MS)
    second.beat()
    held = Counter(each for player in (first, second) for numbers in player.held.values() for each in numbers)
    assert max(held.values()) == 2


def test_partitions_move_in_three_steps() -> None:
    world = World()
    first, second = Player(world, {"orders"}), Player(world, {"orders"})
    first.beat()
    assert (first.epoch, first.count) == (1, 4)
    world.wait(BEAT_MS)
    second.beat()
    assert (second.epoch, second.count, group_of(world).state) == (2, 0, GroupState.RECONCILING)
    first.beat()
    assert (first.epoch, first.count) == (1, 4)
    first.beat()
    assert (first.epoch, first.count) == (2, 2)
    second.beat()
    assert (second.count, group_of(world).state) == (2, GroupState.STABLE)


def test_who_gives_nothing_up_loses_its_place() -> None:
    world = World()
    first, second = Player(world, {"orders"}), Player(world, {"orders"})
    first.beat()
    world.wait(BEAT_MS)
    second.beat()
    for _ in range(14):
        world.wait(BEAT_MS)
        second.beat()
        if first.member_id in group_of(world).members:
            # It is alive, and does not answer what it was told.
            first._told = None
            first.beat()
            first._told = None
    assert second.count == 4
    assert group_of(world).members.keys() == {second.member_id}


def test_a_static_member_comes_back_to_what_it_had() -> None:
    world = World()
    other, one = Player(world, {"orders"}), Player(world, {"orders"}, instance="i")
    other.beat()
    one.beat()
    for _ in range(3):
        world.wait(BEAT_MS)
        other.beat()
        one.beat()
    had, epoch = one.held, group_of(world).epoch
    impostor = Player(world, {"orders"}, instance="i")
    assert impostor.beat() is ErrorCode.UNRELEASED_INSTANCE_ID
    one.leave(-2)
    back = Player(world, {"orders"}, instance="i")
    assert back.beat() is ErrorCode.NONE
    assert (back.held, group_of(world).epoch) == (had, epoch)
    assert len(group_of(world).members) == 2


def test_a_pattern_describes_topics_that_come_later() -> None:
    world = World()

    def joins(pattern: str) -> ErrorCode:
        answer = beat(
            world,
            member_id="m",
            member_epoch=0,
            rebalance_timeout_ms=60_000,
            subscribed_topic_regex=pattern,
            topic_partitions=[],
        )
        return ErrorCode(answer.error_code)

    assert joins("orders(") is ErrorCode.INVALID_REGULAR_EXPRESSION
    assert joins("or.*|la.*") is ErrorCode.NONE
    world.wait(BEAT_MS)
    assert group_of(world).patterns == {"or.*|la.*": frozenset({"orders"})}
    world.topics.counts["later"] = 3
    world.sweep(world.shard.topics_changed(TopicChanges({}, frozenset({"later"}))))
    world.wait(BEAT_MS)
    answer = beat(world, member_id="m", member_epoch=group_of(world).member("m").epoch, topic_partitions=None)
    assert answer.assignment is not None
    assert {world.topics.name_of(each.topic_id) for each in answer.assignment.topic_partitions} == {"orders", "later"}
    beat(world, member_id="m", member_epoch=-1)
    assert (group_of(world).patterns, group_of(world).state) == ({}, GroupState.EMPTY)
    world.restart()
    assert group_of(world).is_empty


def test_a_pattern_goes_with_the_last_who_had_it() -> None:
    """Also where another process of the same instance comes without it."""
    world = World()
    usual: dict[str, Any] = {
        "member_epoch": 0,
        "instance_id": "i",
        "rebalance_timeout_ms": 60_000,
        "topic_partitions": [],
    }
    beat(world, member_id="first", subscribed_topic_regex="or.*", **usual)
    world.wait(BEAT_MS)
    assert group_of(world).patterns
    beat(world, member_id="first", member_epoch=-2, instance_id="i", subscribed_topic_regex=None)
    answer = beat(world, member_id="next", subscribed_topic_names=["orders"], subscribed_topic_regex="", **usual)
    assert answer.error_code == ErrorCode.NONE
    assert group_of(world).patterns == {}


def test_a_group_changes_its_kind_when_nobody_is_left() -> None:
    world = World()
    one = Player(world, {"orders"})
    one.beat()
    protocols = [JoinGroupRequestProtocol(name="range", metadata=b"")]
    request = JoinGroupRequest(
        group_id="g",
        session_timeout_ms=10_000,
        rebalance_timeout_ms=60_000,
        protocol_type="consumer",
        protocols=protocols,
    )

    def code(token: Token) -> int:
        answer = world.answers[token]
        assert isinstance(answer, JoinGroupResponse)
        return answer.error_code

    assert code(world.ask(request, 3)) == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    one.leave()
    token = world.ask(request, 3)
    world.wait(3_000)
    assert code(token) == ErrorCode.NONE
    assert world.shard.groups["g"].kind == "classic"
    assert Player(world, {"orders"}).beat() is ErrorCode.GROUP_ID_NOT_FOUND, "what its member reads cannot be read"
