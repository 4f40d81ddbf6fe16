"""Followers are told once of what several producers said together, and at once of what is large."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bench.replicated_stages import TOPIC, World, make_topic, produce_frame
from penstock.core.node.deadlines import Deadlines
from penstock.core.node.fetching.follower_fetch_delay import ROUNDS, SMALL_BYTES_MAX, UNTRIED_MAX, FollowerFetchDelay
from penstock.core.node.serving.connection import Connection

FOLLOWER = 2


class Moments:
    """A node of which nothing is there but time, and what it tells."""

    def __init__(self) -> None:
        self.deadlines = Deadlines()
        self.now_ms = 1_000
        self.fetching: Any = SimpleNamespace(woken=[])
        clock: Any = self
        self.delay = FollowerFetchDelay(clock, self.fetching)

    def news(self, size: int) -> Any:
        parked: Any = SimpleNamespace(bytes=size)
        self.delay.put_off(parked)
        return parked

    def round(self) -> list[Any]:
        """Who is told in the next round."""
        self.deadlines.run_due(self.now_ms)
        told, self.fetching.woken = self.fetching.woken, []
        return told


def test_small_news_wait_for_others_and_are_told_together() -> None:
    moments = Moments()
    first = moments.news(100)
    assert [moments.round() for _ in range(ROUNDS - 1)] == [[]] * (ROUNDS - 1)
    second = moments.news(100)
    assert moments.round() == [first, second]
    assert moments.deadlines.next_ms() is None, "nobody wakes for nothing"


def test_large_news_are_told_at_once() -> None:
    moments = Moments()
    large = moments.news(SMALL_BYTES_MAX)
    assert moments.deadlines.next_ms() is None
    assert moments.round() == [large]


def test_what_grows_large_meanwhile_is_told_in_the_next_round_with_the_others() -> None:
    moments = Moments()
    one, other = moments.news(1), moments.news(1)
    one.bytes += SMALL_BYTES_MAX
    assert moments.round() == [one, other]


def test_the_next_news_wait_again_if_it_was_not_in_vain() -> None:
    moments = Moments()
    for _ in range(2):
        parked = moments.news(100)
        parked.bytes += 100
        assert [moments.round() for _ in range(ROUNDS)] == [*[[]] * (ROUNDS - 1), [parked]]


def test_who_waited_in_vain_makes_others_be_told_at_once_for_a_while() -> None:
    moments = Moments()
    alone = moments.news(100)
    assert [moments.round() for _ in range(ROUNDS)] == [*[[]] * (ROUNDS - 1), [alone]]
    for _ in range(UNTRIED_MAX):
        parked = moments.news(100)
        assert moments.deadlines.next_ms() is None
        assert moments.round() == [parked]
    moments.news(100)
    assert moments.round() == []


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    world = World(str(tmp_path / "nodes"))
    make_topic(world)
    yield world
    world.close()


def client(world: World) -> Connection:
    connection = world.nodes[1].connect("127.0.0.1", 1)
    assert connection is not None
    return connection


def say(world: World, producer: Connection) -> None:
    request = produce_frame()
    world.later(1, lambda: producer.feed(request))


def learn(world: World, producers: Sequence[Connection]) -> None:
    """Let it try often enough to see that waiting is not in vain."""
    for _ in range(UNTRIED_MAX + 1):
        for producer in producers:
            say(world, producer)
        world.run()


def test_producers_that_come_together_cost_a_follower_one_turn(world: World) -> None:
    producers = [client(world) for _ in range(5)]
    learn(world, producers)
    replies, turns = world.replies, world.turns[FOLLOWER]
    for producer in producers:
        say(world, producer)
    world.run()
    assert world.replies - replies == len(producers)
    assert world.turns[FOLLOWER] - turns == 1
    logs = [node.replicas.get(TOPIC, 0) for node in world.nodes.values()]
    ends = {log.log.end_offset for log in logs if log is not None}
    assert ends == {len(producers) * (UNTRIED_MAX + 2)}


def test_one_that_comes_a_round_later_is_told_of_as_well(world: World) -> None:
    first, second = producers = client(world), client(world)
    learn(world, producers)
    replies, turns = world.replies, world.turns[FOLLOWER]
    say(world, first)
    # It sends when the first round begins, so what it says arrives in the second.
    world.later(1, lambda: say(world, second))
    world.run()
    assert world.replies - replies == 2
    assert world.turns[FOLLOWER] - turns == 1
