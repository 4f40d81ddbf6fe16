"""Random lives of a group: every reply equals the naive twin's, and what must hold always holds always."""

from __future__ import annotations

from typing import Any, cast

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from penstock.core.base.errors import ErrorCode
from penstock.core.groups.classic.group import ClassicGroup
from penstock.core.groups.classic.states import State
from penstock.core.groups.settings import GroupSettings
from penstock.core.wire.api.heartbeat import HeartbeatRequest, HeartbeatResponse
from penstock.core.wire.api.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from penstock.core.wire.api.leave_group import LeaveGroupRequest, MemberIdentity
from penstock.core.wire.api.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from penstock.core.wire.api.sync_group import SyncGroupRequest, SyncGroupRequestAssignment, SyncGroupResponse
from tests.examples import examples
from tests.groups.naive import NaiveGroup, Said
from tests.groups.transcript import subscription
from tests.groups.world import Token, World, topic_id_of

SETTINGS = GroupSettings(group_members_max=4, initial_rebalance_delay_ms=3_000, new_member_join_timeout_ms=15_000)
PROTOCOLS = (["range"], ["range", "sticky"], ["sticky", "range"], ["sticky"])
VERSIONS = (3, 8, 9)
INSTANCES = (None, None, "one", "two")
SESSIONS_MS = (6_000, 10_000, 45_000)
REBALANCES_MS = (5_000, 7_000, 20_000)
WAITS_MS = (1, 1_000, 1_000, 2_999, 3_000, 3_000, 5_999, 6_000, 7_000, 9_999, 30_000)
LONG_WAIT_MS = 3_600_000
UNKNOWN_ID = "nobody"

choice = st.integers(0, 99)


class GroupLife(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.world = World(SETTINGS)
        self.twin = NaiveGroup(
            SETTINGS.initial_rebalance_delay_ms,
            SETTINGS.group_members_max,
            SETTINGS.new_member_join_timeout_ms,
            now=self.world.now_ms,
        )
        self.ids: list[tuple[str, str | None]] = [(UNKNOWN_ID, None)]
        """(member id, instance id) of everybody who was ever told one."""
        self.instance_of: dict[Token, str | None] = {}
        self.seen = 0
        self.generations: dict[int, tuple[str | None, str]] = {}
        self.newest_generation = 0

    # What may happen.

    @initialize(
        joiners=st.lists(st.tuples(choice, st.sampled_from(INSTANCES), st.sampled_from(PROTOCOLS[:3])), max_size=3),
        rounds=st.integers(0, 2),
    )
    def begin(self, joiners: list[tuple[int, str | None, list[str]]], rounds: int) -> None:
        """Most lives begin with a group that has come to rest, once or twice."""
        for number, instance, protocols in joiners:
            session_ms, rebalance_ms = SESSIONS_MS[number % 3], REBALANCES_MS[number // 3 % 3]
            self._join("", instance, protocols, session_ms, rebalance_ms, 9 if instance else 3)
        for _ in range(rounds):
            self.come_to_rest()

    @rule(
        version=st.sampled_from(VERSIONS),
        instance=st.sampled_from(INSTANCES),
        protocols=st.sampled_from(PROTOCOLS),
        session_ms=st.sampled_from(SESSIONS_MS),
        rebalance_ms=st.sampled_from(REBALANCES_MS),
    )
    def join_without_id(
        self, version: int, instance: str | None, protocols: list[str], session_ms: int, rebalance_ms: int
    ) -> None:
        self._join("", instance, protocols, session_ms, rebalance_ms, version)

    @rule(who=choice, protocols=st.sampled_from(PROTOCOLS), rebalance_ms=st.sampled_from(REBALANCES_MS))
    def join_with_id(self, who: int, protocols: list[str], rebalance_ms: int) -> None:
        member_id, instance = self._pick(who)
        self._join(member_id, instance, protocols, SESSIONS_MS[who % len(SESSIONS_MS)], rebalance_ms, 9)

    @rule(protocols=st.sampled_from(PROTOCOLS))
    def everybody_joins(self, protocols: list[str]) -> None:
        for member_id, _ in list(self.twin.pending):
            self._join(member_id, None, protocols, SESSIONS_MS[1], REBALANCES_MS[0], 9)
        for member in list(self.twin.members):
            self._join(member.id, member.instance, protocols, member.session, member.rebalance, 9)

    @rule(who=choice)
    def all_but_one_join(self, who: int) -> None:
        absent = self._pick(who)[0]
        for member in list(self.twin.members):
            if member.id != absent:
                self._join(member.id, member.instance, member.protocols, member.session, member.rebalance, 9)

    @rule()
    def come_to_rest(self) -> None:
        self._form_generation()
        self.everybody_syncs()

    @rule()
    def wait_for_the_leader(self) -> None:
        self._form_generation()
        self.followers_sync()

    @rule(who=choice, stale=st.booleans(), leave_out=st.booleans())
    def sync(self, who: int, stale: bool, leave_out: bool) -> None:
        self._sync(*self._pick(who), self.twin.generation - stale, leave_out)

    @rule()
    def everybody_syncs(self) -> None:
        for member in list(self.twin.members):
            self._sync(member.id, member.instance, self.twin.generation, leave_out=False)

    @rule()
    def followers_sync(self) -> None:
        for member in list(self.twin.members):
            if member.id != self.twin.leader:
                self._sync(member.id, member.instance, self.twin.generation, leave_out=False)

    @rule(who=choice, stale=st.booleans())
    def beat(self, who: int, stale: bool) -> None:
        member_id, instance = self._pick(who)
        generation = self.twin.generation - stale
        request = HeartbeatRequest(
            group_id="g", generation_id=generation, member_id=member_id, group_instance_id=instance
        )
        token = self.world.ask(request, 4, "beat")
        self.twin.beat(token, member_id, instance, generation)
        self._compare()

    @rule(who=choice)
    def leave(self, who: int) -> None:
        member_id, instance = self._pick(who)
        request = LeaveGroupRequest(
            group_id="g", members=[MemberIdentity(member_id=member_id, group_instance_id=instance)]
        )
        token = self.world.ask(request, 5, "leave")
        self.twin.leave(token, member_id, instance)
        self._compare()

    @rule(duration_ms=st.sampled_from(WAITS_MS))
    def wait(self, duration_ms: int) -> None:
        self.world.wait(duration_ms)
        self.twin.wait(duration_ms)
        self._compare()

    @rule(steps=st.integers(1, 3))
    def wait_for_the_next_alarm(self, steps: int) -> None:
        for _ in range(steps):
            self.wait(min((at for at, _, _ in self.twin.deadlines()), default=self.twin.now) - self.twin.now)

    @rule(who=choice)
    def connection_closes(self, who: int) -> None:
        for token in self.world.unanswered()[who % 4 :][:1]:
            self.world.drop(token)

    @rule(who=choice, offset=st.integers(0, 9))
    def commit(self, who: int, offset: int) -> None:
        """Only a member of a settled generation may commit, or anybody while the group is empty."""
        member_id, instance = self._pick(who)
        request = OffsetCommitRequest(
            group_id="g",
            generation_id_or_member_epoch=self.twin.generation,
            member_id=member_id,
            group_instance_id=instance,
            topics=[
                OffsetCommitRequestTopic(
                    topic_id=topic_id_of("orders"),
                    partitions=[OffsetCommitRequestPartition(partition_index=who % 4, committed_offset=offset)],
                )
            ],
        )
        token = self.world.ask(request, 10, "commit")
        answer = self.world.answers[token]
        assert isinstance(answer, OffsetCommitResponse)
        if answer.topics[0].partitions[0].error_code == ErrorCode.NONE:
            assert self.twin.state in ("Stable", "Preparing")
            member = self.twin.find(member_id)
            assert member is not None
            member.deadline = self.twin.now + member.session
        self.seen = len(self.world.answers)

    @rule(luck=st.integers(0, 3))
    def coordinator_restarts(self, luck: int) -> None:
        if luck:
            return
        self.world.restart()
        self.twin.restart()
        self._compare()
        # A generation that was never written may be formed again, by others.
        self.newest_generation = self.twin.generation
        self.generations = {g: seen for g, seen in self.generations.items() if g <= self.newest_generation}

    # What must hold.

    @invariant()
    def state_is_the_twins(self) -> None:
        group = self._group()
        if group is None:
            assert self.twin.written is None
            return
        short = {State.PREPARING_REBALANCE: "Preparing", State.COMPLETING_REBALANCE: "Completing"}
        assert short.get(group.state, group.state.value) == self.twin.state
        assert group.generation == self.twin.generation
        assert group.leader == self.twin.leader
        assert [(m.member_id, m.assignment.decode()) for m in group.members.values()] == [
            (m.id, m.assignment) for m in self.twin.members
        ]

    @invariant()
    def books_are_in_order(self) -> None:
        """What the group counts and indexes for speed agrees with what it could look up."""
        group = self._group()
        if group is None:
            return
        supporters = [name for member in group.members.values() for name in member.protocol_names()]
        assert group.supporters == {name: supporters.count(name) for name in set(supporters)}
        assert group.static_ids == {m.instance_id: m.member_id for m in group.members.values() if m.instance_id}
        assert set(group.joining) | set(group.syncing) | group.owing_sync <= set(group.members)
        seats = [*group.joining.values(), *group.syncing.values()]
        assert self.world.shard.parked_count == sum(seat.reply is not None for seat in seats)
        assert self.world.shard.parked_count == len(self.world.unanswered())

    @invariant()
    def everybody_has_a_deadline(self) -> None:
        """Nobody can stay for ever by being forgotten: a timer, or an answer we owe, is always ahead."""
        group = self._group()
        if group is None:
            return
        timers: Any = self.world.timers.deadlines
        for member_id in group.members:
            waits_for_us = member_id in group.joining or member_id in group.syncing
            assert waits_for_us or ("session", "g", member_id) in timers
        assert {key[2] for key in timers if key[0] == "session"} <= group.members.keys() | group.pending
        assert (group.state is State.PREPARING_REBALANCE) == (("join", "g") in timers)
        assert bool(group.owing_sync) == (("sync", "g") in timers)

    @invariant()
    def refold_gives_the_same(self) -> None:
        """The log alone gives back all offsets, and every group that is not in the middle of something."""
        old, new = self.world.shard, self.world.refold()
        assert new.offsets == old.offsets
        assert new.groups.keys() == old.groups.keys()
        for group_id, group in old.groups.items():
            if group.state in (State.STABLE, State.EMPTY):
                assert _durable(new.groups[group_id]) == _durable(group)
            else:
                assert new.groups[group_id].generation < group.generation or group.state is State.PREPARING_REBALANCE
        latest = dict(self.world.log)
        compacted = World(SETTINGS)
        compacted.log = list(latest.items())
        assert {g: _durable(each) for g, each in compacted.refold().groups.items()} == {
            g: _durable(each) for g, each in new.groups.items()
        }

    def teardown(self) -> None:
        """Once time passes, no request stays without an answer."""
        self.world.wait(LONG_WAIT_MS)
        assert self.world.unanswered() == []
        assert self.world.shard.parked_count == 0
        group = self._group()
        assert group is None or group.is_empty, "members that are silent for an hour are gone"

    # How it is done.

    def _group(self) -> ClassicGroup | None:
        return self.world.shard.groups.get("g")

    def _pick(self, who: int) -> tuple[str, str | None]:
        """Mostly a member or somebody about to become one; now and then whoever was told an id once."""
        present = [(member.id, member.instance) for member in self.twin.members]
        present += [(member_id, None) for member_id, _ in self.twin.pending]
        pool = present if present and who % 5 else self.ids[-6:]
        return pool[who // 5 % len(pool)]

    def _join(
        self, member_id: str, instance: str | None, protocols: list[str], session: int, rebalance: int, version: int
    ) -> None:
        request = JoinGroupRequest(
            group_id="g",
            session_timeout_ms=session,
            rebalance_timeout_ms=rebalance,
            member_id=member_id,
            group_instance_id=instance if version >= 5 else None,
            protocol_type="consumer",
            protocols=[JoinGroupRequestProtocol(name=name, metadata=subscription("orders")) for name in protocols],
        )
        instance = request.group_instance_id
        token = self.world.ask(request, version, "join", client_id="c", client_host="/h")
        self.instance_of[token] = instance
        self.twin.join(token, member_id, instance, protocols, session, rebalance, version)
        self._compare()

    def _form_generation(self) -> None:
        self.everybody_joins(PROTOCOLS[1])
        while self.twin.state == "Preparing":
            self.wait_for_the_next_alarm(1)

    def _sync(self, member_id: str, instance: str | None, generation: int, leave_out: bool) -> None:
        parts = {member.id: f"{generation}/{member.id}" for member in self.twin.members}
        if leave_out:
            parts.pop(member_id, None)
        request = SyncGroupRequest(
            group_id="g",
            generation_id=generation,
            member_id=member_id,
            group_instance_id=instance,
            assignments=[SyncGroupRequestAssignment(member_id=m, assignment=p.encode()) for m, p in parts.items()],
        )
        token = self.world.ask(request, 4, "sync")
        self.twin.sync(token, member_id, instance, generation, parts)
        self._compare()

    def _compare(self) -> None:
        """The same requests were answered, with the same words."""
        fresh = list(self.world.answers.items())[self.seen :]
        self.seen = len(self.world.answers)
        expected = {who: what for who, what in self.twin.said if who not in self.world.gone}
        assert len(expected) == sum(who not in self.world.gone for who, _ in self.twin.said)
        self.twin.said.clear()
        assert {token: _said(message) for token, message in fresh} == expected
        for token, message in fresh:
            assert isinstance(token, Token)
            if isinstance(message, JoinGroupResponse):
                self._learn(token, message)

    def _learn(self, token: Token, message: JoinGroupResponse) -> None:
        told = (message.member_id, self.instance_of[token])
        if message.member_id and told not in self.ids:
            self.ids.append(told)
        if message.error_code == ErrorCode.NONE:
            assert message.generation_id >= self.newest_generation, "a generation never goes back"
            self.newest_generation = message.generation_id
            self._check_generation(message)

    def _check_generation(self, message: JoinGroupResponse) -> None:
        """Everybody in a generation is told the same protocol and the same leader, who alone sees the others."""
        leads = message.leader == message.member_id
        assert bool(message.members) == leads
        seen = self.generations.setdefault(message.generation_id, (message.protocol_name, message.leader))
        assert seen[0] == message.protocol_name
        if seen[1] != message.leader:
            # Only a static leader can change its id within a generation, by being replaced.
            assert message.leader.startswith(("one-", "two-"))
            assert message.leader[:4] == seen[1][:4]


def _durable(group: ClassicGroup) -> Any:
    members = [
        (m.member_id, m.instance_id, m.client_id, m.session_timeout_ms, m.rebalance_timeout_ms, m.assignment)
        for m in group.members.values()
    ]
    assert group.size_bytes == sum(member.size_bytes for member in group.members.values())
    since = group.state_since_ms if group.is_empty else None
    return group.state, group.generation, group.protocol_type, group.protocol, group.leader, since, members


def _said(message: Any) -> Said:
    if isinstance(message, JoinGroupResponse):
        code = ErrorCode(message.error_code).name
        if code != "NONE":
            return "join", code, message.member_id
        others = [each.member_id for each in message.members]
        told = (message.generation_id, message.protocol_name, message.leader, others, message.skip_assignment)
        return "join", code, message.member_id, *told
    if isinstance(message, SyncGroupResponse):
        return "sync", ErrorCode(message.error_code).name, message.assignment.decode()
    if isinstance(message, HeartbeatResponse):
        return "beat", ErrorCode(message.error_code).name
    return "leave", ErrorCode(message.members[0].error_code).name


TestGroupLife = GroupLife.TestCase
TestGroupLife.settings = cast(settings, examples(200))
