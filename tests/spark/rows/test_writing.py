"""`write_rows` on a real node: what was written is read back, in the partition it belongs to."""

import threading
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest

from penstock.client.admin import Admin
from penstock.client.blocking import Client
from penstock.client.metadata import TopicPartition
from penstock.client.offsets import edges
from penstock.client.reading import Reader
from penstock.core.base.errors import PenstockError
from penstock.core.records.codecs import Codec
from penstock.core.records.murmur2 import partition_for
from penstock.core.records.record import Record
from penstock.spark.rows.schema import HEADERS
from penstock.spark.rows.settings import ClientSettings
from penstock.spark.rows.writing import SinkSettings, write_rows
from penstock.testing import Broker

pytestmark = pytest.mark.client


def read_all(client: Client, topic: str) -> dict[int, list[Record]]:
    places = [TopicPartition(topic, one.number) for one in client.topic(topic, fresh=True).partitions]
    bounds = edges(client, places)
    reader = Reader(
        client,
        {where: first for where, (first, _) in bounds.items()},
        until={where: end for where, (_, end) in bounds.items()},
    )
    found: dict[int, list[Record]] = {where.partition: [] for where in places}
    for chunk in reader:
        found[chunk.where.partition] += chunk.records
    return found


def frame(**columns: Any) -> pa.RecordBatch:
    kinds = {"partition": pa.int32(), "headers": HEADERS, "timestamp": pa.timestamp("us", tz="UTC")}
    arrays = {name: pa.array(cells, kinds.get(name)) for name, cells in columns.items()}
    return pa.RecordBatch.from_pydict(arrays)


@pytest.mark.parametrize("codec", Codec)
def test_keys_choose_their_partition_and_keep_their_order(
    client: Client, settings: ClientSettings, topic: str, codec: Codec
) -> None:
    rows = [(b"key-%d" % (number % 7), b"%d" % number) for number in range(1000)]
    frames = [
        frame(key=[key for key, _ in rows[at : at + 300]], value=[value for _, value in rows[at : at + 300]])
        for at in range(0, 1000, 300)
    ]
    written = write_rows(SinkSettings(settings._replace(codec=codec, batch_bytes=2_000), topic), frames)
    found = read_all(client, topic)
    for partition, records in found.items():
        assert [(r.key, r.value) for r in records] == [row for row in rows if partition_for(row[0], 3) == partition]
    assert written.rows == 1000
    assert written.ends == {TopicPartition(topic, number): len(records) for number, records in found.items() if records}


def test_text_nulls_headers_and_partitions(client: Client, settings: ClientSettings, topic: str) -> None:
    headers = [None, [{"key": "h", "value": b"1"}, {"key": "h", "value": None}], []]
    one = frame(key=["k", None, "gone"], value=["é", "v", None], headers=headers, partition=[2, 2, 2], other=[1, 2, 3])
    write_rows(SinkSettings(settings, topic), [one])
    assert [(r.key, r.value, r.headers) for r in read_all(client, topic)[2]] == [
        (b"k", "é".encode(), ()),
        (None, b"v", (("h", b"1"), ("h", None))),
        (b"gone", None, ()),
    ]


def test_each_row_may_name_its_topic_unless_the_option_does(
    client: Client, settings: ClientSettings, broker: Broker, topic: str
) -> None:
    broker.create_topic(f"{topic}-other")
    rows = frame(topic=[topic, f"{topic}-other", topic], value=["1", "2", "3"], partition=[0, 0, 0])
    write_rows(SinkSettings(settings), [rows])
    assert [r.value for r in read_all(client, topic)[0]] == [b"1", b"3"]
    assert [r.value for r in read_all(client, f"{topic}-other")[0]] == [b"2"]
    write_rows(SinkSettings(settings, f"{topic}-other"), [rows])
    assert [r.value for r in read_all(client, f"{topic}-other")[0]] == [b"2", b"1", b"2", b"3"]
    with pytest.raises(PenstockError, match="a row has no topic"):
        write_rows(SinkSettings(settings), [frame(topic=[None], value=["1"])])


def test_times_are_the_rows_own_if_a_column_is_named(client: Client, settings: ClientSettings, topic: str) -> None:
    moment = datetime(2024, 5, 6, 7, 8, 9, 123456, UTC)
    rows = frame(value=["1", "2"], timestamp=[moment, None], partition=[0, 0])
    write_rows(SinkSettings(settings, topic, "timestamp"), [rows])
    write_rows(SinkSettings(settings, topic), [rows])
    times = [record.timestamp for record in read_all(client, topic)[0]]
    assert times[0] == 1_714_979_289_123
    assert min(times[1:]) > times[0] + 1_000_000


def test_batches_fit_a_topic_that_takes_small_ones(client: Client, settings: ClientSettings, topic: str) -> None:
    Admin(client).alter_configs(2, topic, {"max.message.bytes": "3000"})
    write_rows(SinkSettings(settings, topic), [frame(value=[bytes(100)] * 500)])
    assert sum(map(len, read_all(client, topic).values())) == 500


def test_records_of_a_megabyte(client: Client, settings: ClientSettings, topic: str) -> None:
    values = [bytes([number]) * 1_000_000 for number in range(40)]
    write_rows(SinkSettings(settings, topic), [frame(key=[b"k"] * 40, value=values)])
    assert [r.value for r in read_all(client, topic)[partition_for(b"k", 3)]] == values


def test_a_record_that_is_too_large_is_an_error(settings: ClientSettings, topic: str) -> None:
    with pytest.raises(PenstockError, match="MESSAGE_TOO_LARGE"):
        write_rows(SinkSettings(settings, topic), [frame(value=[bytes(2_000_000)])])


def test_nothing_to_write(settings: ClientSettings, topic: str) -> None:
    assert write_rows(SinkSettings(settings, topic), [frame(value=[]).cast(pa.schema([("value", pa.binary())]))]) == (
        0,
        {},
    )
    assert write_rows(SinkSettings(ClientSettings("127.0.0.1:1"), topic), []) == (0, {})


def test_a_node_that_dies_during_a_write_doubles_nothing() -> None:
    with Broker(beside=True) as broker:
        broker.create_topic("t")
        sink = SinkSettings(ClientSettings(broker.bootstrap, batch_bytes=1_000), "t")
        restart = threading.Thread(target=broker.start)

        def frames() -> Any:
            for number in range(20):
                if number == 10:
                    broker.kill()
                    restart.start()
                yield frame(value=[b"%d" % (100 * number + row) for row in range(100)])

        write_rows(sink, frames())
        restart.join()
        with Client(broker.bootstrap) as client:
            assert [int(r.value or b"") for r in read_all(client, "t")[0]] == [*range(2000)]
