"""Fetches that wait, and sessions as KIP-227 has them."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.core.base.errors import ErrorCode
from penstock.core.base.ports import Append
from penstock.core.node.fetching.fetching import SESSION_IDLE_MS, Fetching
from penstock.core.wire.api.delete_topics import DeleteTopicsRequest, DeleteTopicState
from penstock.core.wire.api.fetch import FetchPartition, FetchRequest, FetchTopic, ForgottenTopic
from tests.node.test_acks import finish_kind
from tests.node.world import Client, World, fetch, found_in, produce, values_of

V = 11


def world_with(**topics: int) -> tuple[World, Client]:
    world = World()
    for name, partitions in topics.items():
        world.create(name, partitions)
    return world, world.client()


def open_session(client: Client, wanted: dict[tuple[str, int], int], **options: Any) -> int:
    answer = client.ask(fetch(wanted, session=(0, 0), **options), V)
    assert answer.session_id != 0
    return int(answer.session_id)


def delete(world: World, name: str) -> None:
    answer = world.client().ask(DeleteTopicsRequest(topics=[DeleteTopicState(name=name)], timeout_ms=1000))
    assert answer.responses[0].error_code == 0


# Waiting


def test_a_fetch_waits_for_min_bytes() -> None:
    world, client = world_with(t=1)
    client.send(fetch({("t", 0): 0}, max_wait_ms=500, min_bytes=100), V)
    world.client().ask(produce("t", b"small"), 9)
    assert client.replies() == []
    world.client().ask(produce("t", bytes(50)), 9)
    assert len(values_of(found_in(client.replies()[0])["t", 0].records)) == 2


def test_a_fetch_waits_no_longer_than_it_said() -> None:
    world, client = world_with(t=1)
    client.send(fetch({("t", 0): 0}, max_wait_ms=500), V)
    world.pass_time(499)
    assert client.replies() == []
    world.pass_time(1)
    assert found_in(client.replies()[0])["t", 0].high_watermark == 0
    world.client().ask(produce("t", b"late"), 9)
    assert client.replies() == []


def test_a_fetch_of_nothing_is_answered_at_once() -> None:
    _, client = world_with()
    assert client.ask(fetch({}, max_wait_ms=500), V).responses == []


def test_a_write_that_finishes_later_wakes_a_fetch() -> None:
    world, client = world_with(t=1)
    world.hold()
    client.send(fetch({("t", 0): 0}, max_wait_ms=10_000), V)
    world.client().send(produce("t", b"a"), 9)
    assert client.replies() == []
    finish_kind(world, Append)
    assert values_of(found_in(client.replies()[0])["t", 0].records) == [b"a"]


def test_a_sync_wakes_a_fetch_where_only_synced_records_count() -> None:
    world = World()
    world.create("t", flush_messages="1")
    client = world.client()
    client.send(fetch({("t", 0): 0}, max_wait_ms=60_000), V)
    world.client().ask(produce("t", b"a"), 9)
    assert values_of(found_in(client.replies()[0])["t", 0].records) == [b"a"]


def test_deleting_a_topic_wakes_its_fetch() -> None:
    world, client = world_with(t=1)
    client.send(fetch({("t", 0): 0}, max_wait_ms=10_000), V)
    delete(world, "t")
    assert found_in(client.replies()[0])["t", 0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_a_closed_connection_takes_its_fetch_along() -> None:
    world, client = world_with(t=1)
    client.send(fetch({("t", 0): 0}, max_wait_ms=10_000), V)
    client.close()
    partition = world.node.replicas.get("t", 0)
    assert partition is not None
    assert not partition.watchers
    world.client().ask(produce("t", b"a"), 9)


def test_an_offset_beyond_the_end_is_out_of_range() -> None:
    _, client = world_with(t=1)
    found = found_in(client.ask(fetch({("t", 0): 5}, max_wait_ms=1000), V))
    assert found["t", 0].error_code == ErrorCode.OFFSET_OUT_OF_RANGE


def test_the_first_batch_comes_even_if_it_is_larger_than_asked_for() -> None:
    _, client = world_with(t=2)
    for partition in (0, 1):
        client.ask(produce("t", bytes(1000), partition=partition), 9)
    found = found_in(client.ask(fetch({("t", 0): 0, ("t", 1): 0}, max_bytes=10), V))
    assert len(values_of(found["t", 0].records)) == 1
    assert values_of(found["t", 1].records) == []


# Sessions


def test_a_session_hears_only_of_news() -> None:
    world, client = world_with(t=3)
    session = open_session(client, {("t", index): 0 for index in range(3)})
    assert found_in(client.ask(fetch({}, session=(session, 1)), V)) == {}
    world.client().ask(produce("t", b"a", partition=1), 9)
    found = found_in(client.ask(fetch({}, session=(session, 2)), V))
    assert set(found) == {("t", 1)}
    assert values_of(found["t", 1].records) == [b"a"]
    # Its offset did not move, so that the same record comes again.
    assert set(found_in(client.ask(fetch({}, session=(session, 3)), V))) == {("t", 1)}
    assert found_in(client.ask(fetch({("t", 1): 1}, session=(session, 4)), V)) == {}


def test_a_forgotten_partition_is_silent_and_one_that_is_added_speaks() -> None:
    world, client = world_with(t=3)
    session = open_session(client, {("t", 0): 0, ("t", 1): 0})
    gone = [ForgottenTopic(topic="t", partitions=[0])]
    client.ask(fetch({("t", 2): 0}, session=(session, 1), forgotten=gone), V)
    for partition in range(3):
        world.client().ask(produce("t", b"a", partition=partition), 9)
    assert set(found_in(client.ask(fetch({}, session=(session, 2)), V))) == {("t", 1), ("t", 2)}
    partition = world.node.replicas.get("t", 0)
    assert partition is not None
    assert not partition.watchers


def test_a_session_may_sleep_until_news_come() -> None:
    world, client = world_with(t=3)
    session = open_session(client, {("t", index): 0 for index in range(3)})
    client.send(fetch({}, session=(session, 1), max_wait_ms=5000), V)
    assert client.replies() == []
    world.client().ask(produce("t", b"a", partition=2), 9)
    assert set(found_in(client.replies()[0])) == {("t", 2)}


@pytest.mark.parametrize(
    ("session_shift", "epoch", "code"),
    [
        (0, 2, ErrorCode.INVALID_FETCH_SESSION_EPOCH),
        (1, 1, ErrorCode.FETCH_SESSION_ID_NOT_FOUND),
    ],
)
def test_a_wrong_id_or_epoch_is_refused_and_the_session_lives_on(
    session_shift: int, epoch: int, code: ErrorCode
) -> None:
    _, client = world_with(t=1)
    session = open_session(client, {("t", 0): 0})
    assert client.ask(fetch({}, session=(session + session_shift, epoch)), V).error_code == code
    assert client.ask(fetch({}, session=(session, 1)), V).error_code == 0


def test_a_session_keeps_to_names_or_to_ids() -> None:
    _, client = world_with(t=1)
    session = open_session(client, {("t", 0): 0})
    answer = client.ask(fetch({}, session=(session, 1)), 13)
    assert answer.error_code == ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR


def test_epoch_0_replaces_a_session_and_minus_1_ends_it() -> None:
    world, client = world_with(t=1)
    first = open_session(client, {("t", 0): 0})
    second = client.ask(fetch({("t", 0): 0}, session=(first, 0)), V).session_id
    assert second not in (0, first)
    assert world.node.fetching.session_count == 1
    assert client.ask(fetch({("t", 0): 0}, session=(second, -1)), V).session_id == 0
    assert world.node.fetching.session_count == 0
    partition = world.node.replicas.get("t", 0)
    assert partition is not None
    assert not partition.watchers


def test_a_full_house_evicts_only_who_was_silent() -> None:
    world = World({"max.incremental.fetch.session.cache.slots": "2"})
    world.create("t")
    client = world.client()
    old = open_session(client, {("t", 0): 0})
    world.pass_time(SESSION_IDLE_MS - 1000)
    young = open_session(client, {("t", 0): 0})
    assert client.ask(fetch({("t", 0): 0}, session=(0, 0)), V).session_id == 0
    world.pass_time(1000)
    assert client.ask(fetch({("t", 0): 0}, session=(0, 0)), V).session_id != 0
    assert client.ask(fetch({}, session=(old, 1)), V).error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert client.ask(fetch({}, session=(young, 1)), V).error_code == 0


def test_no_room_for_sessions_means_plain_fetches() -> None:
    world = World({"max.incremental.fetch.session.cache.slots": "0"})
    world.create("t")
    assert world.client().ask(fetch({("t", 0): 0}, session=(0, 0)), V).session_id == 0


def test_a_topic_that_goes_and_comes_back_in_a_session_by_name() -> None:
    world, client = world_with(t=1)
    world.client().ask(produce("t", b"old"), 9)
    session = open_session(client, {("t", 0): 0})
    client.ask(fetch({("t", 0): 1}, session=(session, 1)), V)
    delete(world, "t")
    found = found_in(client.ask(fetch({}, session=(session, 2)), V))
    assert found["t", 0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    world.create("t")
    found = found_in(client.ask(fetch({("t", 0): 0}, session=(session, 3)), V))
    assert found["t", 0].error_code == 0
    world.client().ask(produce("t", b"new"), 9)
    found = found_in(client.ask(fetch({}, session=(session, 4)), V))
    assert values_of(found["t", 0].records) == [b"new"]


def test_a_topic_that_comes_back_is_another_one_in_a_session_by_id() -> None:
    world, client = world_with(t=1)
    topic_id = world.topic_id("t")
    wanted = FetchTopic(topic_id=topic_id, partitions=[FetchPartition(partition=0, partition_max_bytes=1000)])
    session = client.ask(FetchRequest(session_epoch=0, topics=[wanted]), 13).session_id
    delete(world, "t")
    world.create("t")
    answer = client.ask(FetchRequest(session_id=session, session_epoch=1, topics=[]), 13)
    assert answer.responses[0].partitions[0].error_code == ErrorCode.UNKNOWN_TOPIC_ID


def test_everybody_gets_a_turn_when_the_answer_is_too_small_for_all() -> None:
    """As in Kafka, who was served goes to the end of the line."""
    world, client = world_with(t=4)
    for partition in range(4):
        for _ in range(4):
            world.client().ask(produce("t", bytes(1000), partition=partition), 9)
    offsets = {("t", index): 0 for index in range(4)}
    answer = client.ask(fetch(offsets, session=(0, 0), max_bytes=1500, partition_bytes=1500), V)
    served = []
    for epoch in range(1, 5):
        moved = {}
        for key, data in found_in(answer).items():
            if got := len(values_of(data.records)):
                served.append(key[1])
                offsets[key] += got
                moved[key] = offsets[key]
        request = fetch(moved, session=(answer.session_id, epoch), max_bytes=1500, partition_bytes=1500)
        answer = client.ask(request, V)
    assert sorted(served) == [0, 1, 2, 3]


def test_an_abandoned_fetch_of_a_session_is_answered_in_its_turn() -> None:
    world, client = world_with(t=1)
    session = open_session(client, {("t", 0): 0})
    client.send(fetch({}, session=(session, 1), max_wait_ms=60_000), V)
    client.send(fetch({}, session=(session, 2)), V)
    assert len(client.replies()) == 2
    world.pass_time(60_000)
    assert client.replies() == []


@pytest.mark.slow
def test_a_session_of_ten_thousand_quiet_partitions_looks_at_the_busy_one_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The work of a fetch is counted in looks at partitions; bench/limits.py has the time."""
    world, client = world_with(t=10_000, one=1)
    looks: list[object] = []
    look = Fetching._look
    monkeypatch.setattr(Fetching, "_look", lambda self, interest, *rest: looks.append(look(self, interest, *rest)))
    large = open_session(client, {("t", index): 0 for index in range(10_000)})
    assert len(looks) == 10_000
    client.ask(fetch({}, session=(large, 1)), V)
    small = open_session(client, {("one", 0): 0})
    client.ask(fetch({}, session=(small, 1)), V)
    costs = []
    for session, where in ((large, ("t", 7777)), (small, ("one", 0))):
        looks.clear()
        for number in range(10):
            world.client().ask(produce(where[0], b"x", partition=where[1]), 9)
            answer = client.ask(fetch({where: number}, session=(session, 2 + number)), V)
            assert set(found_in(answer)) == {where}
        costs.append(len(looks))
    assert costs[0] <= costs[1]
