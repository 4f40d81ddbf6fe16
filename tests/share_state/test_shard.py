"""The share coordinator's machine: what is kept, who is refused, and what its log comes to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from penstock.core.base.errors import ErrorCode
from penstock.core.rsm.machine import TopicChanges
from penstock.core.share_state.key import SharePartition, read_key
from penstock.core.wire.stored.share_state import ShareSnapshotKey, ShareUpdateKey
from tests.share_state.coordinator import GROUP, PARTITIONS, TOPIC, Coordinator

ACKNOWLEDGED = 2
ELSEWHERE = b"e" * 16


@pytest.fixture
def coordinator() -> Coordinator:
    coordinator = Coordinator()
    assert coordinator.initialize(state_epoch=5).error_code == 0
    return coordinator


def kinds(coordinator: Coordinator) -> list[int]:
    return [int.from_bytes(key[:2], "big") for _, (key, _) in coordinator.log]


def ranges(read: Any) -> list[tuple[int, int, int, int]]:
    return [
        (each.first_offset, each.last_offset, each.delivery_state, each.delivery_count) for each in read.state_batches
    ]


def test_a_leader_reads_what_another_wrote(coordinator: Coordinator) -> None:
    assert coordinator.write((0, 9, ACKNOWLEDGED, 1), start=0, complete=10).error_code == 0
    assert coordinator.write((12, 14, 0, 2), complete=10).error_code == 0
    coordinator.fold()
    read = coordinator.read(leader_epoch=0)
    assert (read.error_code, read.state_epoch, read.start_offset) == (0, 5, 0)
    assert ranges(read) == [(0, 9, ACKNOWLEDGED, 1), (12, 14, 0, 2)]
    summary = coordinator.summary()
    assert (summary.state_epoch, summary.start_offset, summary.delivery_complete_count) == (5, 0, 10)


def test_a_start_that_moves_takes_what_is_before_it(coordinator: Coordinator) -> None:
    coordinator.write((0, 9, ACKNOWLEDGED, 1), start=0)
    coordinator.write((20, 20, 0, 1), start=5)
    assert ranges(coordinator.read()) == [(5, 9, ACKNOWLEDGED, 1), (20, 20, 0, 1)]
    assert coordinator.write((1, 4, 0, 9), start=-1).error_code == 0
    assert ranges(coordinator.read()) == [(5, 9, ACKNOWLEDGED, 1), (20, 20, 0, 1)]


def test_whoever_was_replaced_is_refused(coordinator: Coordinator) -> None:
    assert coordinator.read(leader_epoch=7).error_code == 0
    assert coordinator.write((0, 0, 2, 1), leader_epoch=6).error_code == ErrorCode.FENCED_LEADER_EPOCH
    assert coordinator.read(leader_epoch=6).error_code == ErrorCode.FENCED_LEADER_EPOCH
    coordinator.fold()
    assert coordinator.write((0, 0, 2, 1), leader_epoch=6).error_code == ErrorCode.FENCED_LEADER_EPOCH
    assert coordinator.write((0, 0, 2, 1), leader_epoch=7, state_epoch=5).error_code == 0
    assert coordinator.initialize(state_epoch=6, start_offset=100).error_code == 0
    assert coordinator.write((0, 0, 2, 1), leader_epoch=7, state_epoch=5).error_code == ErrorCode.FENCED_STATE_EPOCH
    assert coordinator.initialize(state_epoch=5).error_code == ErrorCode.FENCED_STATE_EPOCH
    assert coordinator.write((0, 0, 2, 1), leader_epoch=6, state_epoch=6).error_code == ErrorCode.FENCED_LEADER_EPOCH
    assert coordinator.write((100, 100, 2, 1), leader_epoch=7, state_epoch=6).error_code == 0


def test_reading_again_in_the_same_epoch_writes_nothing(coordinator: Coordinator) -> None:
    coordinator.read(leader_epoch=3)
    before = len(coordinator.log)
    coordinator.read(leader_epoch=3)
    coordinator.read()
    coordinator.summary()
    assert len(coordinator.log) == before


ASKERS: list[Callable[..., Any]] = [Coordinator.initialize, Coordinator.read, Coordinator.write]


@pytest.mark.parametrize("ask", [*ASKERS, Coordinator.delete, Coordinator.summary])
def test_partitions_that_are_not_there(coordinator: Coordinator, ask: Callable[..., Any]) -> None:
    assert ask(coordinator, partition=-1).error_code == ErrorCode.INVALID_REQUEST
    coordinator.initialize(partition=PARTITIONS - 1)
    coordinator.topics[TOPIC] = 1
    assert ask(coordinator, partition=PARTITIONS - 1).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert ask(coordinator, topic=ELSEWHERE).error_code in (
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.INVALID_REQUEST,
    )


def test_what_was_not_set_up_cannot_be_read_or_written(coordinator: Coordinator) -> None:
    assert coordinator.read(partition=1).error_code == ErrorCode.INVALID_REQUEST
    assert coordinator.write((0, 0, 2, 1), partition=1).error_code == ErrorCode.INVALID_REQUEST
    summary = coordinator.summary(partition=1)
    assert (summary.error_code, summary.start_offset, summary.delivery_complete_count) == (0, -1, -1)
    assert coordinator.delete(partition=1).error_code == 0
    assert len(coordinator.log) == 1


def test_how_much_is_done_is_known_from_where_one_began(coordinator: Coordinator) -> None:
    assert coordinator.state().delivery_complete_count == -1
    coordinator.initialize(state_epoch=6, start_offset=10)
    assert coordinator.state().delivery_complete_count == 0


def test_after_so_many_updates_everything_is_written_anew() -> None:
    coordinator = Coordinator(updates_per_snapshot=2)
    coordinator.initialize()
    for offset in range(6):
        coordinator.write((offset, offset, ACKNOWLEDGED, 1), start=0)
    snapshot, update = ShareSnapshotKey.TYPE, ShareUpdateKey.TYPE
    assert kinds(coordinator) == [snapshot, update, update, snapshot, update, update, snapshot]
    assert coordinator.state().snapshot_epoch == 2
    assert ranges(coordinator.read()) == [(0, 5, ACKNOWLEDGED, 1)]
    assert coordinator.prune() == 6
    coordinator.fold()
    assert ranges(coordinator.read()) == [(0, 5, ACKNOWLEDGED, 1)]


def test_the_log_is_cut_where_the_oldest_snapshot_is() -> None:
    coordinator = Coordinator(updates_per_snapshot=0, cold_interval_ms=1_000)
    coordinator.initialize(partition=0)
    coordinator.initialize(partition=1)
    for offset in range(5):
        coordinator.write((offset, offset, ACKNOWLEDGED, 1), start=0, partition=1)
    assert coordinator.prune() == 0
    assert coordinator.refresh() == 0, "it was written a moment ago"
    coordinator.now_ms += 1_000
    assert coordinator.refresh() == 2
    assert coordinator.prune() == 7
    coordinator.now_ms += 1_000
    assert coordinator.refresh() == 0, "there is nothing to gain"
    coordinator.fold()
    assert ranges(coordinator.read(partition=1)) == [(0, 4, ACKNOWLEDGED, 1)]


def test_rounds_go_in_parts() -> None:
    coordinator = Coordinator(cold_interval_ms=1_000, records_per_turn_max=2)
    for partition in range(3):
        coordinator.initialize(partition=partition)
    for _ in range(10):
        coordinator.write((0, 0, ACKNOWLEDGED, 1))
    coordinator.now_ms += 1_000
    assert coordinator.refresh() == 2
    assert coordinator.timers.at["cold"] == coordinator.now_ms
    assert coordinator.refresh() == 1
    assert coordinator.timers.at["cold"] == coordinator.now_ms + 1_000


def test_a_topic_that_goes_takes_its_state_along(coordinator: Coordinator) -> None:
    for decide in coordinator.shard.topics_changed(TopicChanges({"t": TOPIC, "other": ELSEWHERE}, frozenset())):
        result = decide(coordinator.now_ms)
        coordinator.carry_out(result)
        assert not decide(coordinator.now_ms).records
    assert not coordinator.shard.table
    assert coordinator.prune() == coordinator.end_offset


def test_a_topic_that_went_unheard_is_found_in_a_round() -> None:
    coordinator = Coordinator(cold_interval_ms=1_000)
    coordinator.initialize()
    for _ in range(5):
        coordinator.write((0, 0, ACKNOWLEDGED, 1))
    coordinator.topics.clear()
    coordinator.now_ms += 1_000
    assert coordinator.refresh() == 1
    assert not coordinator.shard.table


@pytest.mark.parametrize(
    "text",
    ["", "g", "g:t", ":AAAAAAAAAAAAAAAAAAAAAA:0", "g:AAAA:0", "g:AAAAAAAAAAAAAAAAAAAAAA:x", "g:no topic at all!!!!!:0"],
)
def test_texts_that_name_nothing(text: str) -> None:
    assert read_key(text) is None


def test_a_text_names_a_share_partition() -> None:
    key = SharePartition("a:group", TOPIC, 7)
    assert key.text == "a:group:dHR0dHR0dHR0dHR0dHR0dA:7"
    assert read_key(key.text) == key
    assert read_key(SharePartition(GROUP, bytes(16), 0).text) == SharePartition(GROUP, bytes(16), 0)
