"""What a node does by the clock, and what it does not wake for."""

from __future__ import annotations

import errno
from functools import partial

import pytest

from penstock.core.base.ports import FileFailure, Steps
from penstock.core.log.log import Log
from penstock.core.node.housekeeping import FLUSH_CHECK_INTERVAL_MS
from penstock.core.wire.api.delete_topics import DeleteTopicsRequest
from tests.node.test_disk_trouble import errors_of
from tests.node.world import World, produce

FLUSH_MS = 500


def wakeups(world: World, duration_ms: int = 10_000) -> int:
    """How often the clock alone gives the node something to do."""
    end_ms, count = world.now_ms + duration_ms, 0
    while (at_ms := world.node.next_deadline_ms()) is not None and at_ms <= end_ms:
        world.pass_time(at_ms - world.now_ms)
        count += 1
    return count


def test_topics_are_looked_at_often_only_while_one_asks_to_be_flushed() -> None:
    world = World()
    world.create("lazy")
    at_rest = wakeups(world)
    for name in ("first", "second"):
        world.create(name, flush_ms=str(FLUSH_MS))
        assert wakeups(world) > 2 * at_rest
        world.client().ask(produce(name, b"a"), 9)
        world.pass_time(FLUSH_MS + 2 * FLUSH_CHECK_INTERVAL_MS)
        assert world.node.replicas.get(name, 0).log.synced_offset == 1
        world.client().ask(DeleteTopicsRequest(topic_names=[name], timeout_ms=1000), 5)
        world.pass_time(FLUSH_CHECK_INTERVAL_MS)
        # One more where the time that is looked at begins elsewhere in the longest interval.
        assert wakeups(world) <= at_rest + 1


EIO = FileFailure(errno.EIO, "input/output error")
WORK = {"retain": "retention", "dirtiness": "compaction", "clean": "compaction", "pack_next": "compression"}
"""What is done to a log, and what that is called."""
OFTEN = {"log.retention.check.interval.ms": "500", "log.cleaner.backoff.ms": "500"}
DIRTY = {"cleanup_policy": "compact", "min_cleanable_dirty_ratio": "0"}
PACKED = {"penstock_sealed_compression_type": "zstd"}


@pytest.mark.parametrize("configs", [DIRTY, PACKED])
def test_a_damaged_log_is_named_once_and_left_alone(configs: dict[str, str]) -> None:
    world = World({**OFTEN, "penstock.scrub.bytes.per.second": "0"})
    for topic in ("bad", "good"):
        world.create(topic, **configs)
        for _ in range(3):
            world.client().ask(produce(topic, b"a" * 2_000, key=b"k"), 9)
            log = world.node.replicas.get(topic, 0).log
            world.turn(partial(log.roll, world.now_ms))
            world.settle()
    bad, good = (world.node.replicas.get(topic, 0).log for topic in ("bad", "good"))
    # The magic byte, so that packing cannot go on behind it either.
    world.disk.names[bad.segments[1].log.path].live[16] ^= 1
    before = [segment.size_bytes for segment in bad.segments]
    sizes = [segment.size_bytes for segment in good.segments]
    world.pass_time(5_000)
    (text,) = errors_of(world)
    assert text.startswith(f"bad-0 is damaged in {bad.segments[1].log.path} at byte 0: offsets 1 to 1 ")
    assert not [text for _, text in world.notes if "was stopped" in text]
    assert bad.segments[1].size_bytes == before[1]
    assert [segment.size_bytes for segment in good.segments] != sizes


@pytest.mark.parametrize("work", WORK)
def test_a_log_that_fails_is_no_reason_to_leave_the_others(work: str, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []

    def fail(log: Log, *_: object) -> Steps[None]:
        done.append(log.topic)
        raise EIO
        yield

    world = World(OFTEN)
    for topic in ("one", "other"):
        world.create(topic, **(PACKED if work == "pack_next" else DIRTY))
        for _ in range(2):
            world.client().ask(produce(topic, b"a", key=b"k"), 9)
            world.node.replicas.get(topic, 0).log.roll(world.now_ms)
    monkeypatch.setattr(Log, work, fail)
    world.pass_time(1_000)
    assert {"one", "other"} <= set(done)
    assert ("warning", f"{WORK[work]} of Log(one-0, 0..2) was stopped: input/output error") in world.notes


def test_a_node_that_stops_gives_up_what_it_does_by_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(OFTEN)

    def stopped(log: Log, *_: object) -> Steps[None]:
        world.node.state = "stopping"
        raise EIO
        yield

    world.create("one")
    monkeypatch.setattr(Log, "retain", stopped)
    world.pass_time(1_000)
    assert world.node.state == "stopping"
    assert not [text for _, text in world.notes if "was stopped" in text]
