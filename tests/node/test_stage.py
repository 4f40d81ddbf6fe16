"""Batches that are read before they are appended: the order in which they came is kept, in the log and in the answers,
and nobody else is kept waiting."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.core.base.errors import ErrorCode
from penstock.core.base.ports import LATER, Done, FileFailure, FileOp, RunJob
from penstock.core.records.batch import iterate_headers, read_header
from penstock.core.records.build import seal
from penstock.core.records.codecs import Codec
from penstock.core.records.record import iterate
from penstock.core.wire.api.delete_topics import DeleteTopicsRequest, DeleteTopicState
from penstock.core.wire.api.produce import ProduceRequest
from tests.node.world import Client, World, produce

V = 9
LARGE = b"x" * 20_000


class Workers:
    """Jobs of a world wait until the test says so; everything else goes on."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.jobs: list[tuple[RunJob, Done]] = []
        self._perform = world.files.perform
        world.files.perform = self.perform  # type: ignore[method-assign]  # jobs only

    def perform(self, op: FileOp, done: Done) -> object:
        if not isinstance(op, RunJob):
            return self._perform(op, done)
        assert op.is_awaited
        self.jobs.append((op, done))
        return LATER

    def finish(self) -> None:
        """The oldest job is done."""
        op, done = self.jobs.pop(0)
        self.world.turn(lambda: done(op.job.function(None, *op.job.args)))

    def die(self) -> None:
        _, done = self.jobs.pop(0)
        self.world.turn(lambda: done(FileFailure(5, "the process ended with -9")))


def a_world(**settings: str) -> tuple[World, Workers]:
    world = World(settings={name.replace("_", "."): value for name, value in settings.items()})
    world.create("c", 2, cleanup_policy="compact")
    world.create("t", 1)
    return world, Workers(world)


def parts(client: Client) -> list[Any]:
    return [part for reply in client.replies() for topic in reply.responses for part in topic.partition_responses]


def codes(client: Client) -> list[int]:
    return [part.error_code for part in parts(client)]


def offsets(client: Client) -> list[int]:
    return [part.base_offset for part in parts(client)]


def stored(world: World, folder: str = "c-0") -> list[bytes]:
    data = world.files.content(f"/data/{folder}/00000000000000000000.log")
    return [record.value[:10] for at, _ in iterate_headers(data) for record in iterate(data, at)]


def test_what_comes_meanwhile_waits_behind_it_and_others_go_on() -> None:
    world, workers = a_world()
    slow, other = world.client("10.0.0.1"), world.client("10.0.0.2")
    slow.send(produce("c", LARGE, key=b"k"), V)
    slow.send(produce("c", b"small", key=b"k"), V)
    slow.send(produce("t", b"elsewhere"), V)
    other.send(produce("c", b"of another", key=b"k"), V)
    other.send(produce("c", b"side", key=b"k", partition=1), V)
    assert stored(world, "t-0") == [b"elsewhere"]
    assert stored(world, "c-1") == [b"side"]
    assert not slow.replies()
    assert not other.replies()
    workers.finish()
    assert stored(world) == [LARGE[:10], b"small", b"of another"]
    assert offsets(slow) == [0, 1, 0]
    assert offsets(other) == [2, 0]
    other.send(produce("c", b"at once", key=b"k"), V)
    assert offsets(other) == [3]


def test_a_row_of_them_is_read_by_one_job_and_more_than_a_job_holds_by_the_next() -> None:
    world, workers = a_world()
    client = world.client()
    sent = [bytes([number]) * 600_000 for number in range(1, 5)]
    for value in sent:
        client.send(produce("c", value, key=b"k"), V)
    sizes = []
    while workers.jobs:
        sizes.append(len(workers.jobs[0][0].job.args[0]))
        workers.finish()
    assert sizes == [1, 1, 1, 1]
    for number in range(5):
        client.send(produce("c", bytes([number]) + LARGE, key=b"k"), V)
    assert len(workers.jobs) == 1
    workers.finish()
    assert len(workers.jobs[0][0].job.args[0]) == 4
    workers.finish()
    assert offsets(client) == list(range(9))


def test_requests_in_one_go_keep_their_order() -> None:
    world, workers = a_world()
    client = world.client()
    wanted = [b"first", LARGE, b"third", LARGE, b"fifth"]
    frames = b"".join(client.frame(produce("c", value, key=b"k"), V) for value in wanted)
    world.turn(lambda: client.connection.feed(frames))
    while workers.jobs:
        workers.finish()
    assert stored(world) == [value[:10] for value in wanted]
    assert offsets(client) == [0, 1, 2, 3, 4]


def test_two_batches_of_one_request_and_one_for_elsewhere() -> None:
    world, workers = a_world()
    client = world.client()
    rows = [produce("c", LARGE, key=b"k"), produce("c", b"second", key=b"k"), produce("t", b"other")]
    request = ProduceRequest(acks=-1, timeout_ms=1000, topic_data=[row.topic_data[0] for row in rows])
    client.send(request, V)
    assert stored(world, "t-0") == [b"other"]
    assert not client.replies()
    workers.finish()
    assert offsets(client) == [0, 1, 0]


def test_one_that_is_refused_does_not_hold_up_the_next() -> None:
    world, workers = a_world()
    client = world.client()
    client.send(produce("c", LARGE), V)
    client.send(produce("c", LARGE, key=b"k"), V)
    client.send(produce("c", b"no key"), V)
    workers.finish()
    workers.finish()
    assert not workers.jobs
    assert codes(client) == [ErrorCode.INVALID_RECORD, ErrorCode.NONE, ErrorCode.INVALID_RECORD]
    assert stored(world) == [LARGE[:10]]


def test_what_the_header_refutes_is_told_in_its_turn() -> None:
    world, workers = a_world()
    client = world.client()
    client.send(produce("c", LARGE, key=b"k"), V)
    wrong = produce("c", b"value", key=b"k")
    data = wrong.topic_data[0].partition_data[0]
    data.records = bytes(data.records[:-1]) + b"\x07"
    client.send(wrong, V)
    assert not client.replies()
    workers.finish()
    assert codes(client) == [ErrorCode.NONE, ErrorCode.CORRUPT_MESSAGE]


@pytest.mark.parametrize("acks", [1, -1])
def test_a_connection_that_closes_takes_nothing_back(acks: int) -> None:
    world, workers = a_world()
    client = world.client()
    client.send(produce("c", LARGE, key=b"k", acks=acks), V)
    client.send(produce("c", b"second", key=b"k", acks=acks), V)
    client.close()
    workers.finish()
    assert stored(world) == [LARGE[:10], b"second"]
    assert world.node.staging.bytes_staged == 0


def test_who_asks_for_no_answer_hears_of_a_failure_by_the_end_of_the_connection() -> None:
    world, workers = a_world()
    client = world.client()
    client.send(produce("c", LARGE, key=b"k", acks=0), V, answered=False)
    workers.finish()
    assert not client.connection.closing
    client.send(produce("c", LARGE, acks=0), V, answered=False)
    assert not client.connection.closing
    workers.finish()
    assert client.connection.closing
    assert stored(world) == [LARGE[:10]]


def test_a_retry_is_found_to_be_here_already() -> None:
    world, workers = a_world()
    client = world.client()
    fields: dict[str, Any] = {"key": b"k", "producer_id": 5, "producer_epoch": 0}
    client.send(produce("c", LARGE, base_sequence=0, **fields), V)
    client.send(produce("c", LARGE, base_sequence=0, **fields), V)
    client.send(produce("c", b"next", base_sequence=1, **fields), V)
    client.send(produce("c", b"a gap", base_sequence=7, **fields), V)
    workers.finish()
    workers.finish()
    assert [(part.error_code, part.base_offset) for part in parts(client)] == [
        (0, 0),
        (0, 0),
        (0, 1),
        (ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, -1),
    ]


def test_a_topic_that_is_deleted_meanwhile() -> None:
    world, workers = a_world()
    client = world.client()
    client.send(produce("c", LARGE, key=b"k"), V)
    client.send(produce("c", b"second", key=b"k"), V)
    world.client().send(DeleteTopicsRequest(topics=[DeleteTopicState(name="c")], timeout_ms=1000))
    world.settle()
    assert codes(client) == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION] * 2
    workers.finish()
    assert not client.replies()


def test_a_worker_that_dies_once_is_asked_again() -> None:
    world, workers = a_world()
    client = world.client()
    client.send(produce("c", LARGE, key=b"k"), V)
    workers.die()
    workers.finish()
    assert offsets(client) == [0]


def test_nothing_overtakes_what_no_worker_could_read() -> None:
    world, workers = a_world()
    client = world.client()
    client.send(produce("c", LARGE, key=b"k"), V)
    client.send(produce("c", b"second", key=b"k"), V)
    workers.die()
    workers.die()
    assert codes(client) == [ErrorCode.KAFKA_STORAGE_ERROR] * 2
    client.send(produce("c", b"again", key=b"k"), V)
    assert offsets(client) == [0]


def test_time_is_up_before_it_is_read() -> None:
    world, workers = a_world()
    client = world.client()
    client.send(produce("c", LARGE, key=b"k", timeout_ms=500), V)
    world.pass_time(600)
    assert codes(client) == [ErrorCode.REQUEST_TIMED_OUT]
    workers.finish()
    assert stored(world) == [LARGE[:10]]
    assert not client.replies()


def test_a_connection_with_its_share_is_not_read_from_until_some_is_done() -> None:
    world, workers = a_world(penstock_batch_queue_bytes_max="1048576")
    client = world.client()
    frames = b"".join(client.frame(produce("c", bytes([n]) + LARGE, key=b"k"), V) for n in range(8))
    world.turn(lambda: client.connection.feed(frames))
    assert not client.connection.reading
    assert world.node.staging.bytes_staged < (1 << 20) // 16 + 2 * len(LARGE)
    while workers.jobs:
        workers.finish()
    assert client.connection.reading
    assert offsets(client) == list(range(8))
    assert world.node.staging.bytes_staged == client.connection.staged_bytes == 0


def test_a_node_that_stops_leaves_them() -> None:
    world, workers = a_world()
    client = world.client()
    client.send(produce("c", LARGE, key=b"k"), V)
    world.stop()
    workers.finish()
    world.restart(clean=False)
    client = world.client()
    client.send(produce("c", b"next", key=b"k"), V)
    assert offsets(client) == [0]


def test_times_that_cannot_be_are_settled_by_the_records() -> None:
    """As in Kafka: the header gets the latest time that there is."""
    world, workers = a_world()
    client = world.client()
    request = produce("t", LARGE)
    data = request.topic_data[0].partition_data[0]
    whole = bytes(data.records)
    header = read_header(whole)
    data.records = bytes(seal(header._replace(max_timestamp=5), whole[61:]))
    client.send(request, V)
    workers.finish()
    assert offsets(client) == [0]
    assert read_header(world.files.content("/data/t-0/00000000000000000000.log")).max_timestamp == header.max_timestamp


def test_what_is_small_and_unpacks_to_much_is_read_elsewhere() -> None:
    world, workers = a_world()
    client = world.client()
    client.send(produce("c", bytes(1_000_000), key=b"k", codec=Codec.GZIP), V)
    assert len(workers.jobs) == 1
    workers.finish()
    client.send(produce("c", *[b""] * 5000, key=b"k", codec=Codec.GZIP), V)
    assert len(workers.jobs) == 1
    workers.finish()
    client.send(produce("c", *[b"value"] * 100, key=b"k", codec=Codec.GZIP), V)
    assert codes(client) == [0, 0, 0]
