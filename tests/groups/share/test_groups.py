"""Members that come, go and hang, while coordinators move and do not answer: what anybody reads is set up, and all is
read once it is quiet."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Final

import pytest

from penstock.core.base.errors import ErrorCode
from penstock.core.groups.settings import GroupSettings, MemberSettings
from penstock.core.groups.share import heartbeat as heartbeating
from penstock.core.groups.share import sessions
from penstock.core.groups.share.kind import ShareKind
from penstock.core.groups.share.records import epoch_record
from penstock.core.groups.share.state_partitions import StatePartitions, Topics
from penstock.core.rsm.machine import TopicChanges
from penstock.core.wire.api.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from tests.examples import scaled
from tests.finding import first_failure
from tests.groups.share.players import GROUP, Elsewhere, Player, group_of
from tests.groups.world import World, topic_id_of

STEPS: Final = 40
QUIET_ROUNDS: Final = 14
"""What was being set up when a coordinator went is asked for again after thirty seconds."""
BEAT_MS: Final = 5_000
PLAYERS_MAX: Final = 7
DELETED_MEANWHILE: Final = 1068
"""A group is deleted while its first member, who has gone silent, still waits."""


class History:
    """One life of a group."""

    def __init__(self, seed: int) -> None:
        self._random = random = Random(seed)
        interval_ms = random.choice([0, 1_000, 20_000])
        self.world = World(GroupSettings(share=lambda _: MemberSettings(assignment_interval_ms=interval_ms)))
        self.elsewhere = Elsewhere(self.world)
        self.players: list[Player] = []
        self._count = 0

    def play(self) -> None:
        acts = [self._come, self._come, self._beat, self._beat, self._beat, self._read_others, self._leave, self._hang]
        acts += [self._grow, self._answer, self._answer, self._miss, self._move, self._wait, self._settle, self._delete]
        for _ in range(STEPS):
            self._random.choice(acts)()
            for player in self.players:
                player.hear()
            self._check_set_up()
        self._settle()

    # What happens

    def _come(self) -> None:
        if len(self.players) < PLAYERS_MAX:
            self._count += 1
            self.players.append(Player(self.world, f"m{self._count}", self._topics()))

    def _topics(self) -> set[str]:
        return set(self._random.sample(["orders", "payments", "absent"], self._random.randint(1, 2)))

    def _any(self) -> Player | None:
        return self._random.choice(self.players) if self.players else None

    def _beat(self) -> None:
        if (player := self._any()) is not None:
            player.beat()

    def _read_others(self) -> None:
        if (player := self._any()) is not None:
            player.topics = self._topics()

    def _leave(self) -> None:
        if (player := self._any()) is not None and not player.is_waiting:
            player.leave()
            self.players.remove(player)

    def _hang(self) -> None:
        """It says nothing for longer than a session; the others go on."""
        if (silent := self._any()) is None or silent.is_waiting:
            return
        for _ in range(10):
            self.world.wait(BEAT_MS)
            for player in self.players:
                if player is not silent:
                    player.beat()
        if not self.world.due:
            assert silent.name not in self._members()

    def _members(self) -> set[str]:
        return set(group_of(self.world).members) if GROUP in self.world.shard.groups else set()

    def _grow(self) -> None:
        if self.world.topics.counts["orders"] < 8:
            self.world.topics.counts["orders"] += 1
            self.world.sweep(self.world.shard.topics_changed(TopicChanges({}, frozenset({"orders"}))))

    def _answer(self) -> None:
        self.elsewhere.answer()

    def _miss(self) -> None:
        self.elsewhere.answer(is_reached=False)

    def _move(self) -> None:
        self.world.restart()

    def _wait(self) -> None:
        self.world.wait(self._random.choice([100, 1_000, 5_000]))

    def _delete(self) -> None:
        """A group that is deleted leaves nothing, and may come again."""
        if GROUP not in self.world.shard.groups or self._members():
            return
        token = self.world.ask(DeleteGroupsRequest(groups_names=[GROUP]), 2)
        self._quiet()
        answer = self.world.answers[token]
        assert isinstance(answer, DeleteGroupsResponse)
        if answer.results[0].error_code == ErrorCode.NONE and GROUP not in self.world.shard.groups:
            assert not self.elsewhere.epochs

    # What has to be

    def _quiet(self) -> None:
        while self.world.due:
            self.elsewhere.answer()
        for player in self.players:
            player.hear()
            assert not player.is_waiting, "whoever waits has been forgotten"

    def _settle(self) -> None:
        """All beat for a while, and share coordinators answer: then everything that somebody reads is read."""
        for _ in range(QUIET_ROUNDS):
            self._quiet()
            self.world.wait(BEAT_MS)
            for player in self.players:
                player.beat()
        self._quiet()
        counts = self.world.topics.counts
        wanted = {
            (topic_id_of(topic), index)
            for player in self.players
            for topic in player.topics & counts.keys()
            for index in range(counts[topic])
        }
        held = {place for player in self.players for place in player.held}
        assert held == wanted
        for player in self.players:
            assert not (player.topics & counts.keys()) or len(player.held) > 0 or len(self.players) > len(wanted)

    def _check_set_up(self) -> None:
        """Nobody reads what share coordinators have never heard of."""
        members = group_of(self.world).members.values() if GROUP in self.world.shard.groups else ()
        for member in members:
            for topic_id, partitions in member.assigned.items():
                assert {(topic_id, each) for each in partitions} <= self.elsewhere.epochs.keys()


def play(seed: int) -> None:
    History(seed).play()


def test_groups() -> None:
    for seed in (DELETED_MEANWHILE, *range(scaled(60))):
        play(seed)


Patch = pytest.MonkeyPatch


def _partitions_are_given_before_they_are_set_up(patch: Patch) -> None:
    patch.setattr(StatePartitions, "assignable", lambda self: {t: each.partitions for t, each in self.known().items()})


def _what_failed_counts_as_set_up(patch: Patch) -> None:
    patch.setattr("penstock.core.groups.share.kind.done", lambda topics, codes: topics)


def _who_waits_is_forgotten_by_who_is_next(patch: Patch) -> None:
    patch.setattr("penstock.core.groups.elsewhere.HeldReplies.lose", lambda self, code: [])


def _a_group_goes_before_its_state(patch: Patch) -> None:
    patch.setattr(ShareKind, "forget_elsewhere", lambda self, turn, group, then: False)


def _who_is_silent_stays(patch: Patch) -> None:
    patch.setattr(sessions, "fence", lambda turn, topics, group, member_id: None)


def _what_is_set_up_later_is_not_looked_at(patch: Patch) -> None:
    patch.setattr(heartbeating, "is_unread", lambda topics, group, names: False)


def _what_is_deleted_meanwhile_counts_as_set_up(patch: Patch) -> None:
    def finished(states: StatePartitions, topics: Topics) -> StatePartitions:
        return StatePartitions({}, {**states.initialized, **topics}, states.deleting)

    patch.setattr(StatePartitions, "finished", finished)


PLANTED = [
    _what_is_deleted_meanwhile_counts_as_set_up,
    _partitions_are_given_before_they_are_set_up,
    _what_failed_counts_as_set_up,
    _who_waits_is_forgotten_by_who_is_next,
    _a_group_goes_before_its_state,
    _who_is_silent_stays,
    _what_is_set_up_later_is_not_looked_at,
]


@pytest.mark.parametrize("plant", PLANTED)
def test_planted_bugs_are_found(plant: Callable[[Patch], None], monkeypatch: Patch) -> None:
    plant(monkeypatch)
    assert first_failure(play, DELETED_MEANWHILE, (AssertionError, KeyError)) is not None


def test_a_record_of_a_group_brings_it() -> None:
    world = World()
    world.settle_records(epoch_record(GROUP, 3, 0))
    assert (group_of(world).epoch, group_of(world).state) == (3, "Empty")
