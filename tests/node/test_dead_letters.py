"""Records that do not fit become dead letters: the others keep their offsets, and nobody is answered before they are
written."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.core.base.errors import ErrorCode
from penstock.core.base.ports import FileFailure
from penstock.core.log.log import Log
from penstock.core.records.batch import iterate_headers
from penstock.core.records.build import build_batch
from penstock.core.records.record import Record, iterate
from penstock.core.wire.api.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from tests.node.test_schema_validation import V, part, prefixed, register, request
from tests.node.transactional import Transactional
from tests.node.world import NOW_MS, Client, World, fetch, found_in
from tests.schema_topic.records import schema

GOOD = prefixed(7)
BAD = b"plain"


def a_world(**configs: str) -> tuple[World, Client]:
    world = World()
    world.create("_schemas", cleanup_policy="compact")
    dlq = {"penstock_value_schema_validation": "id", "penstock_schema_validation_on_failure": "dlq"}
    world.create("t", **{**dlq, **configs})
    client = world.client()
    register(client, schema("t-value", 1, 7))
    return world, client


def a_batch(*values: bytes | None, **more: Any) -> bytes:
    return bytes(build_batch([(b"k", value, [("h", b"v")], NOW_MS) for value in values], **more))


def idempotent(sequence: int, *values: bytes | None) -> bytes:
    return a_batch(*values, producer_id=5, producer_epoch=0, base_sequence=sequence)


def ask(client: Client, batch: bytes, wait_ms: int = 1_000) -> Any:
    client.send(request(batch), V)
    settle(client.world, wait_ms)
    return part(client.replies()[0])


def settle(world: World, wait_ms: int) -> None:
    world.settle()
    world.pass_time(wait_ms)


def records(client: Client, topic: str) -> list[Record]:
    answer = client.ask(fetch({(topic, 0): 0}), 11)
    data = bytes(found_in(answer)[topic, 0].records or b"")
    return [record for at, _ in iterate_headers(data) for record in iterate(data, at)]


def stored(client: Client, topic: str = "t") -> list[tuple[int, bytes | None]]:
    return [(each.offset, each.value) for each in records(client, topic)]


def letters(client: Client) -> list[tuple[bytes | None, str]]:
    """Values, and the offsets where they would stand."""
    found = [(each.value, dict(each.headers)) for each in records(client, "t.dlq")]
    return [(value, (headers["__penstock.errors.offset"] or b"").decode()) for value, headers in found]


def test_what_does_not_fit_is_diverted_and_the_rest_keeps_its_offsets() -> None:
    _, client = a_world()
    answer = ask(client, a_batch(GOOD, BAD, GOOD, b"", None))
    assert (answer.error_code, answer.base_offset) == (0, 0)
    assert stored(client) == [(0, GOOD), (2, GOOD), (4, None)]
    assert letters(client) == [(BAD, "1"), (b"", "3")]
    assert ask(client, a_batch(GOOD)).base_offset == 5


def test_a_dead_letter_says_where_it_comes_from_and_why() -> None:
    world, client = a_world()
    ask(client, a_batch(GOOD, BAD))
    (letter,) = records(client, "t.dlq")
    assert (letter.key, letter.value, letter.timestamp) == (b"k", BAD, NOW_MS)
    assert [(name, (value or b"").decode()) for name, value in letter.headers] == [
        ("h", "v"),
        ("__penstock.errors.topic", "t"),
        ("__penstock.errors.partition", "0"),
        ("__penstock.errors.offset", "1"),
        ("__penstock.errors.timestamp", str(NOW_MS)),
        ("__penstock.errors.class", "INVALID_RECORD"),
        ("__penstock.errors.message", "its value does not begin with a zero byte and the id of a schema"),
        ("__penstock.errors.attempts", "1"),
        ("__penstock.errors.broker", "1"),
    ]
    assert any("1 records of t-0 go to t.dlq" in text for _, text in world.notes)


def test_a_batch_of_which_nothing_is_left_still_takes_its_offsets_and_sequences() -> None:
    world, client = a_world()
    assert ask(client, idempotent(0, BAD, BAD)).base_offset == 0
    assert ask(client, idempotent(2, GOOD)).base_offset == 2
    assert stored(client) == [(2, GOOD)]
    world.restart(clean=False)
    client = world.client()
    assert ask(client, idempotent(3, GOOD)).base_offset == 3
    assert stored(client) == [(2, GOOD), (3, GOOD)]
    assert letters(client) == [(BAD, "0"), (BAD, "1")]


@pytest.mark.parametrize("codec", ["gzip", "zstd"])
def test_what_is_left_is_packed_as_the_topic_wants(codec: str) -> None:
    _, client = a_world(compression_type=codec)
    ask(client, a_batch(*[GOOD, BAD] * 50))
    assert stored(client) == [(offset, GOOD) for offset in range(0, 100, 2)]
    assert [value for value, _ in letters(client)] == [BAD] * 50


def test_nobody_is_answered_before_the_dead_letter_is_written() -> None:
    world, client = a_world()
    ask(client, a_batch(BAD))
    world.node.replicas.get("t.dlq", 0).log.blocked = "for now"  # type: ignore[union-attr]
    other = world.client()
    other.send(request(a_batch(GOOD, BAD)), V)
    settle(world, 1_000)
    assert not other.replies()
    assert len(stored(client)) == 1, "what is left may be read before"
    world.node.replicas.get("t.dlq", 0).log.blocked = None  # type: ignore[union-attr]
    world.pass_time(200)
    assert part(other.replies()[0]).error_code == 0
    assert letters(client) == [(BAD, "0"), (BAD, "2")]


def test_a_batch_that_comes_again_brings_its_dead_letters_again() -> None:
    """Its producer was not answered; what was left out when it was stored counts, not what fits now."""
    world, client = a_world()
    ask(client, a_batch(BAD))
    world.node.replicas.get("t.dlq", 0).log.blocked = "for now"  # type: ignore[union-attr]
    client.send(request(idempotent(0, GOOD, prefixed(8))), V)
    world.pass_time(1_000)
    world.restart(clean=False)
    client = world.client()
    register(client, schema("t-value", 2, 8, '"int"'))
    answer = ask(client, idempotent(0, GOOD, prefixed(8)))
    assert (answer.error_code, answer.base_offset) == (0, 1)
    assert stored(client) == [(1, GOOD)]
    assert letters(client) == [(BAD, "0"), (prefixed(8), "2")]
    assert ask(client, idempotent(2, GOOD, prefixed(8))).base_offset == 3
    again = ask(client, idempotent(2, GOOD, prefixed(8)))
    assert (again.error_code, again.base_offset) == (0, 3)
    assert len(letters(client)) == 2, "of what was stored as a whole there are none"


def test_who_cannot_be_given_dead_letters_in_time_comes_again() -> None:
    world, client = a_world()
    ask(client, a_batch(BAD))
    world.node.replicas.get("t.dlq", 0).log.blocked = "for good"  # type: ignore[union-attr]
    wanted = request(idempotent(0, GOOD, BAD))
    wanted.timeout_ms = 100_000
    client.send(wanted, V)
    world.pass_time(31_000)
    answer = part(client.replies()[0])
    assert answer.error_code == ErrorCode.NOT_ENOUGH_REPLICAS
    assert answer.error_message == "dead letters could not be written yet"
    world.node.replicas.get("t.dlq", 0).log.blocked = None  # type: ignore[union-attr]
    assert ask(client, idempotent(0, GOOD, BAD)).base_offset == 1
    assert letters(client) == [(BAD, "0"), (BAD, "2")]


def test_a_record_too_large_for_a_dead_letter_is_refused() -> None:
    world, client = a_world()
    world.create("t.dlq", max_message_bytes="10000")
    answer = ask(client, a_batch(GOOD, b"x" * 5_000))
    assert answer.error_code == ErrorCode.INVALID_RECORD
    assert [(each.batch_index, each.batch_index_error_message) for each in answer.record_errors] == [
        (1, "is too large for t.dlq, which takes 1808 bytes")
    ]
    assert stored(client) == []
    assert world.node.staging.bytes_staged == 0


def test_many_and_large_letters_go_in_several_batches() -> None:
    world, client = a_world(max_message_bytes="8000000")
    bad = [bytes([number]) * 200_000 for number in range(1, 11)]
    assert ask(client, a_batch(GOOD, *bad)).error_code == 0
    answer = client.ask(fetch({("t.dlq", 0): 0}, max_bytes=1 << 24, partition_bytes=1 << 24), 11)
    data = bytes(found_in(answer)["t.dlq", 0].records)
    assert [header.count for _, header in iterate_headers(data)] == [2, 2, 2, 2, 2]
    assert [record.value for at, _ in iterate_headers(data) for record in iterate(data, at)] == bad
    assert world.node.staging.bytes_staged == 0


def test_a_transaction_has_no_dead_letters() -> None:
    world, client = a_world()
    producer = Transactional(world)
    producer.find()
    assert producer.begin() is ErrorCode.NONE
    assert producer.add("t", 0) == [ErrorCode.NONE]
    producer_id, epoch = producer.producer
    identity = {"producer_id": producer_id, "producer_epoch": epoch, "base_sequence": 0, "transactional": True}
    wanted = request(a_batch(GOOD, BAD, **identity))
    wanted.transactional_id = producer.name
    client.send(wanted, V)
    settle(world, 1_000)
    answer = part(client.replies()[0])
    assert answer.error_code == ErrorCode.INVALID_RECORD
    assert "dead letters of transactions are not written" in answer.error_message
    assert stored(client) == []


def test_what_is_gone_by_then_is_not_looked_for() -> None:
    _, client = a_world()
    ask(client, idempotent(0, GOOD, BAD))
    cut = DeleteRecordsTopic(name="t", partitions=[DeleteRecordsPartition(partition_index=0, offset=2)])
    client.ask(DeleteRecordsRequest(topics=[cut], timeout_ms=1_000))
    assert ask(client, idempotent(0, GOOD, BAD)).error_code == 0
    assert letters(client) == [(BAD, "1")]


def test_a_disk_that_fails_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    _, client = a_world()
    ask(client, idempotent(0, GOOD, BAD))

    def fail(*_: object) -> Any:
        raise FileFailure(5, "it is broken")
        yield

    monkeypatch.setattr(Log, "read", fail)
    answer = ask(client, idempotent(0, GOOD, BAD))
    assert answer.error_code == ErrorCode.KAFKA_STORAGE_ERROR
