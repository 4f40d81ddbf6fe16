"""`read_range` on a real node: everything that was produced, in order, or a loud word about what is gone."""

import threading
import warnings
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

from penstock.client.admin import Admin
from penstock.client.blocking import Client
from penstock.client.errors import ClientError
from penstock.client.metadata import TopicPartition
from penstock.client.producing import Producer
from penstock.core.base.errors import ErrorCode, PenstockError
from penstock.core.records.build import build_batch
from penstock.core.records.codecs import Codec
from penstock.core.wire.api.fetch import FetchableTopicResponse, FetchResponse, PartitionData
from penstock.spark.rows import DataLost, ReadTask, links, read_range
from penstock.spark.rows.settings import ClientSettings
from penstock.spark.rows.tasks import COLUMNS
from penstock.testing import Broker
from tests.client.fake_broker import FakeBroker
from tests.waiting import wait_until

pytestmark = pytest.mark.client


def fill(client: Client, topic: str, count: int, *, batch_bytes: int = 2_000, size: int = 10) -> None:
    with Producer(client, batch_bytes=batch_bytes) as producer:
        for number in range(count):
            producer.send(topic, b"%d" % number, bytes(size), partition=0)


def keys(batches: Iterator[pa.RecordBatch]) -> list[int]:
    return [int(key) for batch in batches for key in batch.column("key").to_pylist()]


def task(settings: ClientSettings, topic: str, start: int, end: int, **more: Any) -> ReadTask:
    return ReadTask(settings, topic, 0, start, end, **more)


def test_everything_in_order_in_batches_of_some_rows(client: Client, settings: ClientSettings, topic: str) -> None:
    fill(client, topic, 1000)
    batches = list(read_range(task(settings, topic, 0, 1000, batch_rows=300, fetch_bytes=20_000)))
    assert keys(iter(batches)) == [*range(1000)]
    assert max(batch.num_rows for batch in batches) <= 300


@pytest.mark.parametrize(("start", "end"), [(0, 1), (7, 23), (499, 500), (250, 250)])
def test_a_range_that_begins_and_ends_inside_batches(
    client: Client, settings: ClientSettings, topic: str, start: int, end: int
) -> None:
    fill(client, topic, 500)
    assert keys(read_range(task(settings, topic, start, end, fetch_bytes=3_000))) == [*range(start, end)]


def test_an_empty_range_asks_nobody(topic: str) -> None:
    assert list(read_range(task(ClientSettings("127.0.0.1:1"), topic, 5, 5))) == []


@pytest.mark.parametrize("codec", Codec)
def test_records_are_what_was_produced(client: Client, settings: ClientSettings, topic: str, codec: Codec) -> None:
    with Producer(client, codec=codec) as producer:
        producer.send(topic, None, b"v" * 300, partition=0, timestamp=1_700_000_000_123)
        producer.send(topic, b"k", None, [("a", b"1"), ("b", None), ("a", b"")], partition=0, timestamp=5)
    (batch,) = read_range(task(settings, topic, 0, 2, columns=COLUMNS))
    first, second = batch.to_pylist()
    assert (first["key"], first["value"], first["headers"]) == (None, b"v" * 300, None)
    assert (first["topic"], first["partition"], first["offset"], first["timestampType"]) == (topic, 0, 0, 0)
    assert first["timestamp"].timestamp() == 1_700_000_000.123
    assert (second["key"], second["value"], second["offset"]) == (b"k", None, 1)
    assert [tuple(header.values()) for header in second["headers"]] == [("a", b"1"), ("b", None), ("a", b"")]


def test_records_that_are_larger_than_a_fetch(client: Client, settings: ClientSettings, topic: str) -> None:
    Admin(client).alter_configs(2, topic, {"max.message.bytes": "4000000"})
    fill(client, topic, 5, size=1_500_000)
    batches = list(read_range(task(settings, topic, 0, 5, fetch_bytes=100_000)))
    assert keys(iter(batches)) == [*range(5)]
    assert {len(value) for batch in batches for value in batch.column("value").to_pylist()} == {1_500_000}


def test_what_was_deleted_in_between_is_named(client: Client, settings: ClientSettings, topic: str) -> None:
    fill(client, topic, 100)
    Admin(client).delete_records({TopicPartition(topic, 0): 40})
    said = f"offsets 10 to 39 of {topic}-0 are gone: the partition begins at offset 40 now; "
    said += f"the query planned to read offsets 10 to 89 of {topic}-0"
    with pytest.raises(DataLost, match=said) as caught:
        keys(read_range(task(settings, topic, 10, 90)))
    assert "failOnDataLoss=false" in str(caught.value)
    with pytest.warns(RuntimeWarning, match="offsets 10 to 39"):
        assert keys(read_range(task(settings, topic, 10, 90, fail_on_data_loss=False))) == [*range(40, 90)]
    with pytest.warns(RuntimeWarning, match="offsets 10 to 29"):
        assert keys(read_range(task(settings, topic, 10, 30, fail_on_data_loss=False))) == []


def test_an_end_that_is_not_there_is_named_soon(client: Client, settings: ClientSettings, topic: str) -> None:
    fill(client, topic, 10)
    for start in (0, 10, 15):
        with pytest.raises(DataLost, match="the partition ends at offset 10 now"):
            keys(read_range(task(settings, topic, start, 20)))
        with pytest.warns(RuntimeWarning, match=f"offsets {max(start, 10)} to 19"):
            found = keys(read_range(task(settings, topic, start, 20, fail_on_data_loss=False)))
        assert found == [*range(start, 10)]


def test_a_topic_made_anew_is_another_topic(client: Client, settings: ClientSettings, topic: str) -> None:
    fill(client, topic, 30)
    planned = client.topic(topic).topic_id
    assert len(keys(read_range(task(settings, topic, 0, 30, topic_id=planned)))) == 30
    Admin(client).delete_topic(topic)
    Admin(client).create_topic(topic, 1)
    fill(client, topic, 20)
    with pytest.raises(DataLost, match=r"offsets 5 to 29 .* deleted and made anew"):
        keys(read_range(task(settings, topic, 5, 30, topic_id=planned)))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        found = keys(read_range(task(settings, topic, 5, 30, topic_id=planned, fail_on_data_loss=False)))
    assert found == [*range(5, 20)]
    assert ["made anew" in str(one.message) for one in said] == [True, False]
    assert "ends at offset 20 now" in str(said[1].message)
    # Who did not say which topic was meant gets the one that has the name, even on a connection that knew the other.
    assert keys(read_range(task(settings, topic, 0, 20))) == [*range(20)]


def test_a_topic_that_is_gone(client: Client, settings: ClientSettings, topic: str) -> None:
    fill(client, topic, 10)
    assert len(keys(read_range(task(settings, topic, 0, 10)))) == 10
    Admin(client).delete_topic(topic)
    with pytest.raises(DataLost, match="does not exist any more"):
        keys(read_range(task(settings, topic, 0, 10)))
    with pytest.warns(RuntimeWarning, match="does not exist any more"):
        assert keys(read_range(task(settings, topic, 0, 10, fail_on_data_loss=False))) == []


def test_a_partition_that_was_added_after_the_connection_was_made(
    client: Client, settings: ClientSettings, topic: str
) -> None:
    fill(client, topic, 1)
    topic_id = client.topic(topic).topic_id
    assert len(keys(read_range(task(settings, topic, 0, 1, topic_id=topic_id)))) == 1
    Admin(client).add_partitions(topic, 5)
    with Producer(client) as producer:
        producer.send(topic, b"7", b"", partition=4)
    assert keys(read_range(ReadTask(settings, topic, 4, 0, 1, topic_id=topic_id))) == [7]


def test_a_node_that_dies_during_a_read(settings: ClientSettings) -> None:
    with Broker(beside=True) as broker:
        broker.create_topic("t")
        with Client(broker.bootstrap) as client:
            fill(client, "t", 3000, batch_bytes=1_000, size=500)
        patient = settings._replace(bootstrap=broker.bootstrap, api_timeout_ms=60_000)
        rows = read_range(task(patient, "t", 0, 3000, fetch_bytes=20_000, batch_rows=40))
        found = keys(iter([next(rows)]))
        broker.kill()
        restart = threading.Thread(target=broker.start)
        restart.start()
        found += keys(rows)
        restart.join()
    assert found == [*range(3000)]


def test_the_next_task_uses_the_same_connection(client: Client, settings: ClientSettings, topic: str) -> None:
    fill(client, topic, 200)
    for _ in range(3):
        assert len(keys(read_range(task(settings, topic, 0, 200)))) == 200
        (kept,) = links._idle[settings]
    rows = read_range(task(settings, topic, 0, 200, batch_rows=10, fetch_bytes=1000))
    next(rows)
    rows.close()  # type: ignore[attr-defined]  # A generator, as Spark's LIMIT leaves it.
    wait_until(lambda: links._idle[settings] == [kept])


def test_a_broken_batch_is_named_by_its_offset(settings: ClientSettings) -> None:
    batch = build_batch([(b"1", b"v", (), 5)] * 3, base_offset=0)
    batch[-3] ^= 1
    with FakeBroker() as broker:
        broker.on("Fetch", lambda request, version: fetched(request, bytes(batch)))
        with pytest.raises(PenstockError, match="t-0: corrupt batch at offset 0"):
            keys(read_range(task(settings._replace(bootstrap=broker.address), "t", 0, 3)))


@pytest.mark.parametrize(
    "code",
    [
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ],
)
def test_a_leader_that_does_not_know_its_part_is_asked_again(settings: ClientSettings, code: ErrorCode) -> None:
    batch = bytes(build_batch([(b"1", b"v", (), 5)] * 3, base_offset=0))
    with FakeBroker() as broker:
        answers = [code, code, None]

        def answer(request: Any, version: int) -> FetchResponse:
            refusal = answers.pop(0)
            return fetched(request, batch) if refusal is None else fetched(request, b"", refusal)

        broker.on("Fetch", answer)
        assert keys(read_range(task(settings._replace(bootstrap=broker.address), "t", 0, 3))) == [1, 1, 1]
        # The leader is looked up again after each refusal.
        assert len(broker.seen("Metadata")) >= 3


def test_silence_ends_with_an_error(settings: ClientSettings) -> None:
    with FakeBroker() as broker:
        broker.on("Fetch", lambda request, version: fetched(request, b""))
        hasty = settings._replace(bootstrap=broker.address, api_timeout_ms=100)
        with pytest.raises(ClientError, match="nothing came from offset 0 of t-0 on"):
            keys(read_range(task(hasty, "t", 0, 3)))


def test_an_open_transaction_is_the_reason_for_silence(settings: ClientSettings) -> None:
    with FakeBroker() as broker:
        broker.on("Fetch", lambda request, version: fetched(request, b"", stable=0))
        hasty = settings._replace(bootstrap=broker.address, api_timeout_ms=100)
        with pytest.raises(ClientError, match="a transaction is open there"):
            keys(read_range(task(hasty, "t", 0, 3, isolation="read_committed")))


def fetched(request: Any, blob: bytes, code: ErrorCode = ErrorCode.NONE, stable: int = 100) -> FetchResponse:
    topic = request.topics[0]
    data = PartitionData(
        partition_index=0,
        error_code=code,
        high_watermark=100,
        last_stable_offset=stable,
        log_start_offset=0,
        records=blob,
    )
    return FetchResponse(
        responses=[FetchableTopicResponse(topic=topic.topic, topic_id=topic.topic_id, partitions=[data])]
    )
