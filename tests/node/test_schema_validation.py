"""A topic that demands schemas takes what names one that is registered for it, and nothing else."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

import pytest

from penstock.core.base.errors import ErrorCode
from penstock.core.records.build import build_batch
from penstock.core.schemas.stored import guid_of
from penstock.core.wire.api.delete_topics import DeleteTopicsRequest, DeleteTopicState
from penstock.core.wire.api.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tests.node.test_stage import Workers
from tests.node.world import NOW_MS, Client, World, fetch, found_in, produce, values_of
from tests.schema_topic.records import Record, schema

V = 9
STRING = '"string"'
ORDER = json.dumps({"type": "record", "name": "Order", "namespace": "shop", "fields": []})
PROTO = 'syntax = "proto3"; package shop; message Order { message Line { int32 n = 1; } }'
HEADER = "__value_schema_id"


def prefixed(id: int, payload: bytes = b"payload") -> bytes:
    return b"\0" + id.to_bytes(4, "big") + payload


def a_world(*records: Record, **configs: str) -> tuple[World, Client]:
    """A topic `t`, whose values must name a schema unless its settings say otherwise."""
    world = World()
    world.create("_schemas", cleanup_policy="compact")
    world.create("t", **{"penstock_value_schema_validation": "id", **configs})
    client = world.client()
    register(client, *records)
    return world, client


def register(client: Client, *records: Record) -> None:
    for key, value in records:
        batch = bytes(build_batch([(key, value, (), NOW_MS)]))
        assert part(client.ask(request(batch, "_schemas"), V)).error_code == 0
    client.world.run_due()


def request(batch: bytes, topic: str = "t") -> ProduceRequest:
    data = PartitionProduceData(index=0, records=batch)
    return ProduceRequest(acks=-1, timeout_ms=5000, topic_data=[TopicProduceData(name=topic, partition_data=[data])])


def part(answer: Any) -> Any:
    return answer.responses[0].partition_responses[0]


def ask(client: Client, batch: bytes) -> Any:
    """Ask, and let the time pass that may be waited."""
    client.send(request(batch), V)
    client.world.settle()
    client.world.pass_time(1_000)
    return part(client.replies()[0])


def code(client: Client, *values: bytes | None, key: bytes | None = None, headers: Any = ()) -> ErrorCode:
    return ErrorCode(ask(client, bytes(build_batch([(key, value, headers, NOW_MS) for value in values]))).error_code)


def stored(client: Client) -> list[bytes | None]:
    return values_of(found_in(client.ask(fetch({("t", 0): 0}), 11))["t", 0].records)


def test_only_values_that_name_a_schema_of_the_topics_subject_are_taken() -> None:
    _, client = a_world(schema("t-value", 1, 7), schema("other-value", 1, 8, '"int"'), schema("t-key", 1, 9, '"long"'))
    assert code(client, prefixed(7), None, prefixed(7, b"")) is ErrorCode.NONE
    assert code(client, b"plain") is ErrorCode.INVALID_RECORD
    assert code(client, b"\1" + prefixed(7)[1:]) is ErrorCode.INVALID_RECORD
    assert code(client, b"") is ErrorCode.INVALID_RECORD
    for id in (8, 9, 10):
        assert code(client, prefixed(id)) is ErrorCode.INVALID_RECORD
    assert stored(client) == [prefixed(7), None, prefixed(7, b"")]


def test_the_answer_names_the_records_and_says_why() -> None:
    _, client = a_world(schema("t-value", 1, 7))
    records = [prefixed(7), b"plain", prefixed(8)]
    answer = ask(client, bytes(build_batch([(None, value, (), NOW_MS) for value in records])))
    assert [(each.batch_index, each.batch_index_error_message) for each in answer.record_errors] == [
        (1, "its value does not begin with a zero byte and the id of a schema"),
        (2, "its value names schema 8, which the registry does not have"),
    ]
    assert answer.error_message.startswith("2 of 3 records do not fit their schemas; record 1: its value does not")
    assert stored(client) == []


def test_keys_are_looked_at_where_the_topic_asks_for_that() -> None:
    both = {"penstock_key_schema_validation": "id"}
    _, client = a_world(schema("t-key", 1, 1), schema("t-value", 1, 2, '"int"'), **both)
    assert code(client, prefixed(2), key=prefixed(1)) is ErrorCode.NONE
    assert code(client, prefixed(2), key=None) is ErrorCode.NONE
    assert code(client, prefixed(2), key=prefixed(2)) is ErrorCode.INVALID_RECORD
    assert code(client, prefixed(1), key=prefixed(1)) is ErrorCode.INVALID_RECORD


def test_a_header_may_name_the_schema() -> None:
    _, client = a_world(schema("t-value", 1, 7), schema("other-value", 1, 8, '"int"'))
    guid, other = (UUID(guid_of(text)).bytes for text in (STRING, '"int"'))
    assert code(client, b"plain", headers=[("x", b"y"), (HEADER, b"\1" + guid)]) is ErrorCode.NONE
    assert code(client, b"plain", headers=[(HEADER, prefixed(7, b""))]) is ErrorCode.NONE
    assert code(client, b"plain", headers=[(HEADER, b"\1" + other)]) is ErrorCode.INVALID_RECORD
    assert code(client, prefixed(7), headers=[(HEADER, b"\2" + guid)]) is ErrorCode.INVALID_RECORD
    assert code(client, prefixed(7), headers=[(HEADER, b"\1")]) is ErrorCode.INVALID_RECORD


@pytest.mark.parametrize(
    ("strategy", "fitting", "others"),
    [
        ("topic", {"t-value"}, {"shop.Order", "t-shop.Order", "t-key", "u-value"}),
        ("record", {"shop.Order"}, {"t-value", "t-shop.Order", "Order", "shop.Other"}),
        ("topic-record", {"t-shop.Order"}, {"t-value", "shop.Order", "t-Order", "u-shop.Order"}),
    ],
)
@pytest.mark.parametrize("form", [{"text": ORDER}, {"text": PROTO, "schemaType": "PROTOBUF"}])
def test_strategies_name_the_subject(strategy: str, fitting: set[str], others: set[str], form: dict[str, str]) -> None:
    subjects = sorted(fitting | others)
    # Each has a content of its own, so that it is not under the others' subjects, too.
    forms = [{**form, "text": form["text"] + " " * number} for number in range(len(subjects))]
    found = [schema(subject, 1, number, **forms[number]) for number, subject in enumerate(subjects)]
    _, client = a_world(*found, penstock_value_subject_name_strategy=strategy)
    for number, subject in enumerate(subjects):
        expected = ErrorCode.NONE if subject in fitting else ErrorCode.INVALID_RECORD
        assert code(client, prefixed(number)) is expected, subject


def test_messages_within_messages_and_titles_are_records() -> None:
    line = schema("shop.Order.Line", 1, 1, PROTO, schemaType="PROTOBUF")
    title = schema("Invoice", 1, 2, '{"title": "Invoice"}', schemaType="JSON")
    _, client = a_world(line, title, penstock_value_subject_name_strategy="record")
    assert code(client, prefixed(1), prefixed(2)) is ErrorCode.NONE


def test_what_is_deleted_is_not_registered() -> None:
    first = schema("t-value", 1, 7)
    _, client = a_world(first, schema("t-value", 2, 8, '"int"'))
    assert code(client, prefixed(7)) is ErrorCode.NONE
    register(client, schema("t-value", 1, 7, deleted=True))
    assert code(client, prefixed(7)) is ErrorCode.INVALID_RECORD
    register(client, (first[0], None), schema("t-value", 3, 7))
    assert code(client, prefixed(7)) is ErrorCode.NONE


def test_a_schema_that_is_registered_within_a_second_was_waited_for() -> None:
    world, client = a_world()
    other = world.client("10.0.0.2")
    client.send(request(bytes(build_batch([(None, prefixed(7), (), NOW_MS)]))), V)
    client.send(request(bytes(build_batch([(None, b"plain", (), NOW_MS)]))), V)
    world.pass_time(900)
    assert not client.replies()
    register(other, schema("t-value", 1, 7))
    first, second = client.replies()
    assert part(first).error_code == ErrorCode.NONE
    assert part(second).error_code == ErrorCode.INVALID_RECORD


def test_what_was_waited_for_in_vain_is_not_waited_for_again() -> None:
    world, client = a_world()
    batch = bytes(build_batch([(None, prefixed(7), (), NOW_MS)]))
    client.send(request(batch), V)
    world.pass_time(999)
    assert not client.replies()
    world.pass_time(1)
    assert part(client.replies()[0]).error_code == ErrorCode.INVALID_RECORD
    assert part(client.ask(request(batch), V)).error_code == ErrorCode.INVALID_RECORD
    register(client, schema("t-value", 1, 7))
    assert part(client.ask(request(batch), V)).error_code == ErrorCode.NONE


def test_a_batch_that_was_taken_is_told_so_again_whatever_has_become_of_its_schema() -> None:
    _, client = a_world(schema("t-value", 1, 7))
    batch = bytes(build_batch([(None, prefixed(7), (), NOW_MS)], producer_id=5, producer_epoch=0, base_sequence=0))
    assert ask(client, batch).base_offset == 0
    register(client, schema("t-value", 1, 7, deleted=True))
    again = ask(client, batch)
    assert (again.error_code, again.base_offset) == (0, 0)
    following = bytes(build_batch([(None, prefixed(7), (), NOW_MS)], producer_id=5, producer_epoch=0, base_sequence=1))
    assert ask(client, following).error_code == ErrorCode.INVALID_RECORD


def test_large_batches_wait_for_a_worker_and_small_ones_are_read_here() -> None:
    world, client = a_world(schema("t-value", 1, 7))
    workers = Workers(world)
    large = [prefixed(7, b"x" * 20_000)]
    client.send(request(bytes(build_batch([(None, value, (), NOW_MS) for value in large]))), V)
    client.send(produce("t", prefixed(7)), V)
    # The first one finds out which schema it is, the second reading knows it.
    workers.finish()
    workers.finish()
    assert [part(each).error_code for each in client.replies()] == [0, 0]
    assert part(client.ask(produce("t", prefixed(7, b"small")), V)).error_code == 0
    assert not workers.jobs
    assert stored(client) == [*large, prefixed(7), prefixed(7, b"small")]


def test_another_topic_of_that_name_begins_anew() -> None:
    world, client = a_world(schema("t-value", 1, 7))
    assert code(client, prefixed(7)) is ErrorCode.NONE
    client.ask(DeleteTopicsRequest(topics=[DeleteTopicState(name="_schemas")], timeout_ms=1000))
    world.run_due()
    assert code(client, prefixed(7)) is ErrorCode.INVALID_RECORD
    world.create("_schemas", cleanup_policy="compact")
    register(client, schema("t-value", 1, 8))
    assert code(client, prefixed(7)) is ErrorCode.INVALID_RECORD
    assert code(client, prefixed(8)) is ErrorCode.NONE


def test_the_next_process_folds_the_topic_before_it_judges() -> None:
    world, client = a_world(schema("t-value", 1, 7))
    world.restart()
    client = world.client()
    assert part(client.ask(produce("t", prefixed(7)), V)).error_code == 0


def test_what_is_demanded_of_all_topics_is_not_of_those_of_the_cluster_itself() -> None:
    world = World({"penstock.value.schema.validation": "id"})
    for name in ("_schemas", "__own", "orders.dlq", "orders"):
        world.create(name)
    world.create("strict.dlq", penstock_value_schema_validation="id")
    client = world.client()
    codes = {}
    for name in ("_schemas", "__own", "orders.dlq", "orders", "strict.dlq"):
        client.send(produce(name, b"plain"), V)
        world.pass_time(1_000)
        codes[name] = ErrorCode(part(client.replies()[0]).error_code)
    refused = {name for name, found in codes.items() if found is ErrorCode.INVALID_RECORD}
    assert refused == {"orders", "strict.dlq"}


def test_payloads_are_read_where_the_topic_asks_for_that() -> None:
    item = json.dumps({"type": "record", "name": "Item", "fields": [{"name": "sku", "type": "string"}]})
    order = json.dumps({"type": "record", "name": "Order", "fields": [{"name": "item", "type": "Item"}]})
    proto = 'syntax = "proto3"; message A { string name = 1; }'
    world, client = a_world(
        schema("item", 1, 1, item),
        schema("t-value", 1, 2, order, references=[{"name": "Item", "subject": "item", "version": 1}]),
        schema("t-value", 2, 3, '{"type": "integer"}', schemaType="JSON"),
        schema("t-value", 3, 4, proto, schemaType="PROTOBUF"),
        schema("t-value", 4, 5, "{", schemaType="AVRO"),
        schema("t-value", 5, 6, order, references=[{"name": "Item", "subject": "gone", "version": 1}]),
        penstock_value_schema_validation="payload",
    )
    workers = Workers(world)

    def reasons(*values: bytes) -> list[str]:
        client.send(request(bytes(build_batch([(None, value, (), NOW_MS) for value in values]))), V)
        while workers.jobs:
            workers.finish()
        world.pass_time(1_000)
        while workers.jobs:
            workers.finish()
        return [each.batch_index_error_message for each in part(client.replies()[0]).record_errors]

    fitting = [prefixed(2, b"\x02a"), prefixed(3, b"17"), prefixed(4, b"\x00\x0a\x01a")]
    assert reasons(*fitting) == []
    bad = [
        prefixed(2, b"\x02\xff"),
        prefixed(3, b'"x"'),
        prefixed(4, b"\x00\x08\x01"),
        prefixed(5),
        prefixed(6),
        prefixed(1),
    ]
    assert reasons(*bad) == [
        "value.item.sku does not fit schema 2: is no text of UTF-8",
        'its value does not fit schema 3: "x" is not of type "integer"',
        "value.name does not fit schema 4: is a varint, and string is a sized field",
        "its value names schema 5, which this broker cannot read: not JSON: "
        "Expecting property name enclosed in double quotes (line 1, column 2)",
        "its value names schema 6, whose reference Item (gone, 1) is not there",
        "its value names schema 1, which is not registered for the subject t-value",
    ]
    assert stored(client) == fitting
