"""However much a node is asked to tell, it tells it in turns, and others are heard between them."""

from __future__ import annotations

import threading
from collections import Counter
from typing import Any

import pytest

from penstock.core.apis import metadata
from penstock.core.base.ports import Pause
from penstock.core.base.steps import Turns
from penstock.core.metadata.fold import fold
from penstock.core.wire import encoder
from penstock.core.wire.api.metadata import MetadataRequest, MetadataResponse
from penstock.core.wire.schema import StoredRecord
from penstock.core.wire.stored.cluster_metadata import PartitionRecord, TopicRecord
from penstock.shell.exposition.rendering import LINES_PER_TURN_MAX, Exposition
from tests.node.world import World

PIECES_OF_A_PARTITION = 8
"""What the encoder makes of one, at most."""


def tell_of(world: World, topics: int, partitions: int) -> None:
    """Let the node's image have many more partitions than it has logs."""
    records: list[StoredRecord] = []
    for number in range(topics):
        topic_id = (number + 1).to_bytes(16, "big")
        records.append(TopicRecord(name=f"many-{number:05}", topic_id=topic_id))
        records += [
            PartitionRecord(partition_id=index, topic_id=topic_id, replicas=[1], isr=[1], leader=1)
            for index in range(partitions)
        ]
    world.node.image, _ = fold(world.node.image, records, 0)


@pytest.mark.parametrize(("topics", "partitions"), [(1, 3_000), (3, 1_000), (300, 10), (3_000, 1)])
def test_all_topics_are_told_in_turns(monkeypatch: pytest.MonkeyPatch, topics: int, partitions: int) -> None:
    world = World()
    tell_of(world, topics, partitions)
    made: Counter[int] = Counter()
    turn = [0]
    describe, begin = metadata._partition, world.node.begin

    here = threading.get_ident()

    def describing(*given: Any) -> Any:
        # A node of another test may still live in a thread of its own.
        made[turn[0]] += threading.get_ident() == here
        return describe(*given)

    def beginning(*given: Any) -> None:
        turn[0] += 1
        begin(*given)

    monkeypatch.setattr(metadata, "_partition", describing)
    monkeypatch.setattr(world.node, "begin", beginning)
    answer = world.client().ask(MetadataRequest(topics=None))
    names = [topic.name for topic in answer.topics]
    assert names == sorted(names)
    assert sum(len(topic.partitions) for topic in answer.topics) == topics * partitions == sum(made.values())
    assert max(made.values()) <= metadata.PARTITIONS_PER_TURN_MAX
    assert turn[0] - max(made) >= topics * partitions * PIECES_OF_A_PARTITION // encoder.PIECES_PER_TURN_MAX // 2


def test_who_hangs_up_meanwhile_costs_nothing_more(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    tell_of(world, 1, 3_000)
    world.hold()
    client = world.client()
    client.send(MetadataRequest(topics=None))
    client.close()
    monkeypatch.setattr(MetadataResponse, "encode_in_turns", None)
    world.release()
    assert not [text for _, text in world.notes if "failed" in text]
    assert not world.node.tasks.running


def test_work_of_different_size_shares_a_turn() -> None:
    turns = Turns(10)

    def pauses(count: int) -> int:
        return sum(isinstance(each, Pause) for each in turns.spend(count))

    assert [pauses(count) for count in (4, 6, 1, 9, 10, 50, 1)] == [0, 0, 1, 0, 1, 1, 1]


def test_metrics_are_written_in_turns() -> None:
    world = World()
    world.create("t", 400)
    steps, pauses = Exposition(world.node).render(is_full=True), 0
    while True:
        try:
            assert isinstance(next(steps), Pause)
        except StopIteration as stop:
            lines = b"".join(stop.value).decode().splitlines()
            break
        pauses += 1
    assert pauses >= len(lines) // LINES_PER_TURN_MAX >= 1
    assert 'penstock_log_end_offset{topic="t",partition="399"} 0' in lines
