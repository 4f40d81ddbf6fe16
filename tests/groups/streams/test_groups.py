"""Members that come, go, hang and hear nothing, while coordinators move and topics go: no task is run by two, and all
are run once it is quiet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Final

import pytest

from penstock.core.groups.settings import GroupSettings
from penstock.core.groups.streams import sessions, targeting
from penstock.core.groups.streams.reconciling import Taken
from penstock.core.groups.streams.sticky_assignor import assign
from penstock.core.groups.streams.tasks import NO_TASKS, Roles, Task
from penstock.core.rsm.machine import TopicChanges
from tests.examples import scaled
from tests.finding import first_failure
from tests.groups.streams.players import GROUP, SOURCE, Player, group_of
from tests.groups.world import World, topic_id_of

STEPS: Final = 60
QUIET_ROUNDS: Final = 14
BEAT_MS: Final = 5_000
PLAYERS_MAX: Final = 6
COUNT: Final = 4
ALL: Final = {Task(name, number) for name in "01" for number in range(COUNT)}


class History:
    """One life of a group."""

    def __init__(self, seed: int) -> None:
        self._random = random = Random(seed)
        interval_ms = random.choice([0, 1_000, 20_000])
        self._standbys = random.choice([0, 1])
        self.world = World(
            GroupSettings(
                streams_assignment_interval_ms=lambda: interval_ms,
                streams_initial_rebalance_delay_ms=random.choice([0, 3_000]),
                streams_standbys=self._standbys,
            )
        )
        self.players: list[Player] = []
        self._count = 0

    def play(self) -> None:
        acts = [self._come, self._come, self._beat, self._beat, self._beat, self._beat, self._miss, self._leave]
        acts += [self._hang, self._move, self._wait, self._lose_topic, self._settle]
        for _ in range(STEPS):
            self._random.choice(acts)()
            self._check()
        self._settle()

    # What happens

    def _come(self) -> None:
        if len(self.players) < PLAYERS_MAX:
            self._count += 1
            self.players.append(Player(self.world, f"m{self._count}", self._random.choice(["p", "q", "r"])))
            self.players[-1].beat()

    def _any(self) -> Player | None:
        return self._random.choice(self.players) if self.players else None

    def _beat(self) -> None:
        if (player := self._any()) is not None:
            player.beat()

    def _miss(self) -> None:
        if (player := self._any()) is not None:
            player.beat(is_heard=False)

    def _leave(self) -> None:
        if (player := self._any()) is not None:
            player.leave()
            self.players.remove(player)

    def _hang(self) -> None:
        """It says nothing for longer than a session; the others go on."""
        silent = self._any()
        for _ in range(10):
            self.world.wait(BEAT_MS)
            for player in self.players:
                if player is not silent:
                    player.beat()
            self._check()
        assert silent is None or silent.name not in self._members()

    def _members(self) -> set[str]:
        return set(group_of(self.world).members) if GROUP in self.world.shard.groups else set()

    def _move(self) -> None:
        self.world.restart()

    def _wait(self) -> None:
        self.world.wait(self._random.choice([100, 1_000, 5_000]))

    def _lose_topic(self) -> None:
        if SOURCE in self.world.topics.counts:
            del self.world.topics.counts[SOURCE]
            self.world.delete_topic(SOURCE, topic_id_of(SOURCE))

    # What has to be

    def _settle(self) -> None:
        self.world.topics.counts[SOURCE] = COUNT
        self.world.sweep(self.world.shard.topics_changed(TopicChanges({}, frozenset({SOURCE}))))
        for _ in range(QUIET_ROUNDS):
            self.world.wait(BEAT_MS)
            for player in self.players:
                player.beat()
                self._check()
        if not self.players:
            return
        assert {task for player in self.players for task in player.active} == ALL
        copies = [task for player in self.players for task in player.standby]
        has_room = len({player.process for player in self.players}) > 1
        stateful = [task for task in ALL if task.subtopology == "1"]
        assert sorted(copies) == (sorted(stateful) if self._standbys and has_room else [])
        assert max(len(player.active) for player in self.players) <= -(-len(ALL) // len(self.players))
        assert group_of(self.world).state == "Stable"

    def _check(self) -> None:
        """Whoever is no member any more finds that out by itself."""
        known = self._members()
        running = [player for player in self.players if player.name in known]
        actives = Counter(task for player in running for task in player.active)
        assert not actives or max(actives.values()) == 1
        held = Counter((each.process, task) for each in running for task in (*each.active, *each.standby))
        assert not held or max(held.values()) == 1


def play(seed: int) -> None:
    History(seed).play()


def test_groups() -> None:
    for seed in range(scaled(60)):
        play(seed)


Patch = pytest.MonkeyPatch


def _a_task_is_given_before_it_is_free(patch: Patch) -> None:
    patch.setattr(Taken, "is_free", lambda self, member, task, is_active: True)


def _threads_of_a_process_share_a_task(patch: Patch) -> None:
    patch.setattr(Taken, "is_free", lambda self, member, task, is_active: not (is_active and task in self._active))


def _nobody_waits_for_who_gives_up(patch: Patch) -> None:
    patch.setattr(Roles, "touches", lambda self, other: False)


def _who_is_silent_stays(patch: Patch) -> None:
    patch.setattr(sessions, "fence", lambda turn, group, member_id: None)


def _somebody_is_forgotten(patch: Patch) -> None:
    def made(parts: object, workers: object, standbys: int) -> dict[str, Roles]:
        targets = assign(parts, workers, standbys)  # type: ignore[arg-type]  # handed through
        return targets | dict.fromkeys(sorted(targets)[2:], NO_TASKS)

    patch.setattr(targeting, "assign", made)


PLANTED = [
    _a_task_is_given_before_it_is_free,
    _threads_of_a_process_share_a_task,
    _nobody_waits_for_who_gives_up,
    _who_is_silent_stays,
    _somebody_is_forgotten,
]


@pytest.mark.parametrize("plant", PLANTED)
def test_planted_bugs_are_found(plant: Callable[[Patch], None], monkeypatch: Patch) -> None:
    plant(monkeypatch)
    assert first_failure(play, 0) is not None
