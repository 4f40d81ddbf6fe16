"""Fetch, ListOffsets, OffsetForLeaderEpoch and DeleteRecords: what is there, and what cannot be."""

from typing import Any

import pytest

from penstock.core.records.build import build_batch
from tests.conformance.beside_kafka.side import IdOf, Side, Sides
from tests.conformance.beside_kafka.test_produce import produce

pytestmark = [pytest.mark.java, pytest.mark.slow]

UNKNOWN_ID = bytes(range(16))
ROOM = 1_000_000
OF_PARTITIONS = ("partition", "current_leader_epoch", "last_fetched_epoch", "partition_max_bytes")


def fill(sides: Sides, topic: str, batches: int = 3) -> None:
    """Batches of two records each, a second apart, the last one older than the one before."""
    sides.create(topic)
    for number in range(batches):
        time = 1_000_000 + 1000 * (number if number < batches - 1 else number - 2)
        records = [(b"k", b"%d" % each, (), time + each) for each in range(2)]
        sides.same("Produce", 9, **produce(build_batch(records), topic))


def fetch(topic: str, offset: int = 0, **more: Any) -> dict[str, Any]:
    partition: dict[str, Any] = {"partition": 0, "fetch_offset": offset, "partition_max_bytes": ROOM}
    partition |= {key: more.pop(key) for key in OF_PARTITIONS if key in more}
    identity = {"topic": topic, "topic_id": UNKNOWN_ID if topic == "nowhere" else IdOf(topic)}
    return {"max_wait_ms": 0, "min_bytes": 0, "topics": [identity | {"partitions": [partition]}]} | more


@pytest.mark.parametrize("version", range(4, 19))
def test_fetch_in_every_version(sides: Sides, version: int) -> None:
    topic = f"fetched-{version}"
    fill(sides, topic)
    for offset in (0, 1, 2, 5, 6, 7, -1, 100):
        sides.same("Fetch", version, **fetch(topic, offset))
    for isolation in (0, 1):
        sides.same("Fetch", version, **fetch(topic, 0, isolation_level=isolation))


@pytest.mark.parametrize("version", [7, 12, 13, 17])
def test_fetches_that_cannot_be(sides: Sides, version: int) -> None:
    topic = f"unfetched-{version}"
    fill(sides, topic)
    sides.same("Fetch", version, **fetch("nowhere"))
    for index in (1, -1, 99):
        sides.same("Fetch", version, **fetch(topic, partition=index))
    for epoch in (0, 1, 5):
        sides.same("Fetch", version, **fetch(topic, current_leader_epoch=epoch))


@pytest.mark.parametrize("version", [12, 13, 17])
def test_readers_that_have_read_in_an_epoch(sides: Sides, version: int) -> None:
    topic = f"epoch-fetched-{version}"
    fill(sides, topic)
    row = {"partition_index": 0, "offset": 2}
    sides.same("DeleteRecords", 2, topics=[{"name": topic, "partitions": [row]}], timeout_ms=2000)
    for epoch in (-1, 0, 1, 5):
        for offset in (0, 2, 5, 6, 7, 100):
            sides.same("Fetch", version, **fetch(topic, offset, last_fetched_epoch=epoch))
    sides.same("Fetch", version, **fetch(topic, 100, last_fetched_epoch=0, isolation_level=1))


def test_limits_of_a_fetch(sides: Sides) -> None:
    fill(sides, "limited")
    for room in (0, 1, 75, 80, 150, 1000):
        sides.same("Fetch", 12, **fetch("limited", max_bytes=room))
        sides.same("Fetch", 12, **fetch("limited", partition_max_bytes=room))


@pytest.mark.parametrize(("session_id", "epoch"), [(0, 1), (12345, 1), (12345, 0), (12345, -1), (0, -1)])
def test_sessions_that_are_not_there(sides: Sides, session_id: int, epoch: int) -> None:
    topic = f"no-session-{session_id}-{epoch}"
    fill(sides, topic)
    sides.same("Fetch", 12, **fetch(topic, session_id=session_id, session_epoch=epoch))


@pytest.mark.parametrize("version", [7, 12, 13, 16])
def test_a_session(sides: Sides, version: int) -> None:
    topic, other = f"session-{version}", f"session-other-{version}"
    fill(sides, topic)
    fill(sides, other)

    def work(side: Side) -> list[Any]:
        nothing = {"topics": [], "max_wait_ms": 0, "min_bytes": 0}
        made = side.ask_raw("Fetch", version, **fetch(topic, 6, session_epoch=0))
        session = made.message.session_id
        said = [made.seen]

        def go(epoch: int, values: dict[str, Any]) -> None:
            said.append(side.ask("Fetch", version, **values | {"session_id": session, "session_epoch": epoch}))

        go(1, nothing)
        go(2, fetch(topic, 4))
        go(3, nothing)
        go(4, fetch(other, 0))
        go(5, fetch(topic, 6))
        go(7, nothing)
        go(6, nothing)
        forgotten = [{"topic": other, "topic_id": IdOf(other), "partitions": [0]}]
        go(6, nothing | {"forgotten_topics_data": forgotten})
        go(7, nothing)
        go(8, fetch("nowhere", 0))
        go(9, nothing)
        go(-1, fetch(topic, 6))
        go(10, nothing)
        return said

    sides.agree(work)


SPECIAL = [-1, -2, -3, -4, -5, -6, -7, 0, 1_000_000, 1_000_001, 1_000_500, 1_001_001, 1_001_002, 2_000_000]


@pytest.mark.parametrize("version", range(1, 12))
def test_offsets_in_every_version(sides: Sides, version: int) -> None:
    topic = f"listed-{version}"
    fill(sides, topic)
    for timestamp in SPECIAL:
        for isolation in (0, 1):
            rows = [{"partition_index": index, "timestamp": timestamp} for index in (0, 1)]
            asked = [{"name": topic, "partitions": rows}, {"name": "nowhere", "partitions": rows[:1]}]
            sides.same("ListOffsets", version, replica_id=-1, isolation_level=isolation, topics=asked, timeout_ms=1000)


@pytest.mark.parametrize("epoch", [0, 1, 5])
def test_offsets_with_an_epoch(sides: Sides, epoch: int) -> None:
    topic = f"listed-epoch-{epoch}"
    fill(sides, topic)
    row = {"partition_index": 0, "timestamp": -1, "current_leader_epoch": epoch}
    sides.same("ListOffsets", 7, replica_id=-1, topics=[{"name": topic, "partitions": [row]}])


def test_offsets_of_an_empty_log(sides: Sides) -> None:
    sides.create("empty")
    for timestamp in SPECIAL:
        row = {"partition_index": 0, "timestamp": timestamp}
        sides.same("ListOffsets", 11, replica_id=-1, topics=[{"name": "empty", "partitions": [row]}])


@pytest.mark.parametrize("replica", [-2, 0, 1, 7])
def test_offsets_for_others_than_consumers(sides: Sides, replica: int) -> None:
    topic = f"listed-for-{replica}"
    fill(sides, topic)
    for timestamp in SPECIAL:
        row = {"partition_index": 0, "timestamp": timestamp}
        sides.same("ListOffsets", 11, replica_id=replica, topics=[{"name": topic, "partitions": [row]}])


def test_offsets_of_partitions_that_are_named_twice(sides: Sides) -> None:
    fill(sides, "listed-twice")
    first, missing = ({"partition_index": index, "timestamp": -1} for index in (0, 1))
    again = first | {"timestamp": -2}
    for rows in ([first, first], [first, missing, again], [missing, missing]):
        for topics in ([rows], [[row] for row in rows]):
            asked = [{"name": "listed-twice", "partitions": each} for each in topics]

            def ask(side: Side, asked: list[Any] = asked) -> Any:
                answer = side.ask("ListOffsets", 11, replica_id=-1, topics=asked)
                return [topic | {"partitions": sorted(topic["partitions"], key=str)} for topic in answer["topics"]]

            sides.agree(ask)


@pytest.mark.parametrize("version", [2, 3, 4])
def test_ends_of_epochs(sides: Sides, version: int) -> None:
    topic = f"epochs-{version}"
    fill(sides, topic)
    for current, epoch in ((-1, 0), (0, 0), (0, 1), (0, 5), (1, 0), (-1, -1), (-1, 7)):
        rows = [{"partition": index, "current_leader_epoch": current, "leader_epoch": epoch} for index in (0, 3)]
        asked = [{"topic": topic, "partitions": rows}, {"topic": "nowhere", "partitions": rows[:1]}]
        sides.same("OffsetForLeaderEpoch", version, topics=asked)


@pytest.mark.parametrize("version", range(3))
def test_records_are_deleted(sides: Sides, version: int) -> None:
    topic = f"shortened-{version}"
    fill(sides, topic)
    for offset in (0, 1, 3, 2, -2, 7, 6, -1):
        rows = [{"partition_index": index, "offset": offset} for index in (0, 1)]
        asked = [{"name": topic, "partitions": rows}, {"name": "nowhere", "partitions": rows[:1]}]

        def delete(side: Side, asked: list[Any] = asked) -> Any:
            answer = side.ask("DeleteRecords", version, topics=asked, timeout_ms=2000)
            return sorted(answer["topics"], key=str)

        sides.agree(delete)
        sides.same("Fetch", 11, **fetch(topic, 0))
        row = {"partition_index": 0, "timestamp": -2}
        sides.same("ListOffsets", 5, replica_id=-1, topics=[{"name": topic, "partitions": [row]}])
