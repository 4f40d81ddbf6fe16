"""The producer against a scripted broker: what it sends, and what it sends again."""

from collections.abc import Iterator
from typing import Any

import pytest

from penstock.client.blocking import Client
from penstock.client.errors import ClientError
from penstock.client.metadata import TopicPartition
from penstock.client.producing import Delivered, Producer
from penstock.core.base.errors import ErrorCode
from penstock.core.records.batch import BatchHeader, read_header
from penstock.core.records.codecs import Codec
from penstock.core.records.murmur2 import partition_for
from penstock.core.records.record import Record, iterate
from penstock.core.wire.api.init_producer_id import InitProducerIdResponse
from penstock.core.wire.api.produce import PartitionProduceResponse, ProduceResponse, TopicProduceResponse
from tests.client.fake_broker import FakeBroker


class Scripted(FakeBroker):
    """A broker that acknowledges, after the error codes it has been given; keeps the batches it saw."""

    def __init__(self, partitions: int = 1) -> None:
        super().__init__(topics={"t": partitions})
        self.errors: list[int] = []
        self.batches: list[tuple[int, bytes]] = []
        self.producer_ids = iter(range(100, 200))
        self.on("Produce", self.acknowledge)
        self.on("InitProducerId", lambda *_: InitProducerIdResponse(producer_id=next(self.producer_ids)))

    def headers(self) -> list[BatchHeader]:
        return [read_header(batch) for _, batch in self.batches]

    def records(self) -> list[tuple[int, Record]]:
        return [(partition, record) for partition, batch in self.batches for record in iterate(batch)]

    def acknowledge(self, request: Any, _version: int) -> ProduceResponse | None:
        answers = []
        for topic in request.topic_data:
            for partition in topic.partition_data:
                self.batches.append((partition.index, bytes(partition.records)))
                code = self.errors.pop(0) if self.errors else 0
                answers.append(PartitionProduceResponse(index=partition.index, error_code=code, base_offset=7))
        if request.acks == 0:
            return None
        topic = request.topic_data[0]
        answer = TopicProduceResponse(name=topic.name, topic_id=topic.topic_id, partition_responses=answers)
        return ProduceResponse(responses=[answer])


@pytest.fixture
def broker() -> Iterator[Scripted]:
    with Scripted(3) as one:
        yield one


def test_records_arrive_with_everything_they_have(broker: Scripted) -> None:
    delivered: list[Delivered] = []
    with Client(broker.address) as client, Producer(client, on_delivery=delivered.append) as producer:
        producer.send("t", b"k", b"v", [("h", b"1"), ("n", None)], partition=2, timestamp=123)
        producer.send("t", None, None, partition=2, timestamp=124)
    assert broker.records() == [
        (2, Record(0, 123, b"k", b"v", (("h", b"1"), ("n", None)))),
        (2, Record(1, 124, None, None, ())),
    ]
    assert delivered == [Delivered(TopicPartition("t", 2), 7, 2)]


def test_keys_go_where_javas_client_puts_them(broker: Scripted) -> None:
    keys = [b"%d" % number for number in range(50)]
    with Client(broker.address) as client, Producer(client) as producer:
        for key in keys:
            producer.send("t", key, b"")
    assert {record.key: partition for partition, record in broker.records()} == {
        key: partition_for(key, 3) for key in keys
    }


def test_records_without_key_stay_together_until_the_batch_is_full(broker: Scripted) -> None:
    with Client(broker.address) as client, Producer(client, batch_bytes=1000) as producer:
        for _ in range(60):
            producer.send("t", None, b"x" * 50)
    sizes = [header.count for header in broker.headers()]
    assert sum(sizes) == 60
    assert len(sizes) <= 5


@pytest.mark.parametrize("codec", list(Codec))
def test_every_codec_can_be_read_back(broker: Scripted, codec: Codec) -> None:
    with Client(broker.address) as client, Producer(client, codec=codec) as producer:
        for number in range(20):
            producer.send("t", b"k", b"%d" % number)
    assert [record.value for _, record in broker.records()] == [b"%d" % number for number in range(20)]
    assert {header.codec for header in broker.headers()} == {codec}


def test_sequences_count_records_per_partition(broker: Scripted) -> None:
    with Client(broker.address) as client:
        producer = Producer(client)
        for count in (2, 3):
            for _ in range(count):
                producer.send("t", None, b"", partition=0)
            producer.send("t", None, b"", partition=1)
            producer.flush()
    found = [(partition, read_header(batch)) for partition, batch in broker.batches]
    assert {header.producer_id for _, header in found} == {100}
    assert [header.base_sequence for partition, header in found if partition == 0] == [0, 2]
    assert [header.base_sequence for partition, header in found if partition == 1] == [0, 1]


def test_a_batch_that_is_sent_again_is_the_same_to_the_byte(broker: Scripted) -> None:
    broker.errors = [ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.REQUEST_TIMED_OUT]
    with Client(broker.address) as client, Producer(client) as producer:
        producer.send("t", b"k", b"v", partition=0)
    assert len(broker.batches) == 3
    assert len(set(broker.batches)) == 1


def test_only_what_was_not_acknowledged_is_sent_again(broker: Scripted) -> None:
    broker.errors = [ErrorCode.NONE, ErrorCode.NOT_LEADER_OR_FOLLOWER]
    delivered: list[Delivered] = []
    with Client(broker.address) as client, Producer(client, on_delivery=delivered.append) as producer:
        producer.send("t", None, b"", partition=0)
        producer.send("t", None, b"", partition=1)
    assert [partition for partition, _ in broker.batches] == [0, 1, 1]
    assert [batch.where.partition for batch in delivered] == [0, 1]


def test_a_duplicate_is_a_success(broker: Scripted) -> None:
    broker.errors = [ErrorCode.DUPLICATE_SEQUENCE_NUMBER]
    delivered: list[Delivered] = []
    with Client(broker.address) as client, Producer(client, on_delivery=delivered.append) as producer:
        producer.send("t", None, b"", partition=0)
    assert len(delivered) == len(broker.batches) == 1


def test_after_a_refusal_the_count_starts_under_a_new_producer_id(broker: Scripted) -> None:
    broker.errors = [ErrorCode.MESSAGE_TOO_LARGE]
    with Client(broker.address) as client:
        producer = Producer(client)
        producer.send("t", None, b"", partition=0)
        with pytest.raises(ClientError) as failure:
            producer.flush()
        producer.send("t", None, b"", partition=0)
        producer.flush()
    assert "max.message.bytes" in (failure.value.hint or "")
    assert [(header.producer_id, header.base_sequence) for header in broker.headers()] == [(100, 0), (101, 0)]


def test_without_answers_nothing_is_waited_for(broker: Scripted) -> None:
    delivered: list[Delivered] = []
    with Client(broker.address, timeout=5) as client:
        with Producer(client, acks=0, on_delivery=delivered.append) as producer:
            producer.send("t", None, b"one", partition=0)
        # The connection stays in step: the next answer belongs to the next question.
        assert [topic.name for topic in client.topics()] == ["t"]
    assert delivered == [Delivered(TopicPartition("t", 0), -1, 1)]
    assert broker.headers()[0].producer_id == -1


def test_a_broker_that_knows_no_topic_ids_is_told_names(broker: Scripted) -> None:
    broker.versions[0] = (0, 12)
    with Client(broker.address) as client, Producer(client) as producer:
        producer.send("t", None, b"", partition=0)
    assert [version for request, version in broker.requests if type(request).__name__ == "ProduceRequest"] == [12]
    assert broker.seen("Produce")[0].topic_data[0].name == "t"


def test_a_failure_inside_the_block_does_not_send_what_was_collected(broker: Scripted) -> None:
    def fail_after_sending(client: Client) -> None:
        with Producer(client) as producer:
            producer.send("t", None, b"", partition=0)
            raise KeyError

    with Client(broker.address) as client, pytest.raises(KeyError):
        fail_after_sending(client)
    assert broker.batches == []


def test_a_refused_batch_is_sent_again_before_the_next_one(broker: Scripted) -> None:
    broker.errors = [ErrorCode.NOT_LEADER_OR_FOLLOWER]
    with Client(broker.address) as client, Producer(client, batch_bytes=100) as producer:
        for number in range(3):
            producer.send("t", None, b"%d" % number * 100, partition=0)
    assert [header.base_sequence for header in broker.headers()] == [0, 0, 1, 2]


def test_a_connection_lost_under_way_costs_no_record(broker: Scripted) -> None:
    delivered: list[Delivered] = []
    with (
        Client(broker.address) as client,
        Producer(client, batch_bytes=100, on_delivery=delivered.append) as producer,
    ):
        producer.send("t", None, b"1" * 100, partition=0)
        client.link(client.leader(TopicPartition("t", 0))).close()
        producer.send("t", None, b"2" * 100, partition=0)
    assert [one.records for one in delivered] == [1, 1]
    assert [header.base_sequence for header in broker.headers()][-2:] == [0, 1]


def test_a_partition_that_is_left_out_of_an_answer_is_sent_again(broker: Scripted) -> None:
    empty = iter([ProduceResponse(responses=[])])
    broker.on("Produce", lambda request, version: next(empty, None) or broker.acknowledge(request, version))
    delivered: list[Delivered] = []
    with Client(broker.address) as client, Producer(client, on_delivery=delivered.append) as producer:
        producer.send("t", None, b"1", partition=0)
    assert delivered == [Delivered(TopicPartition("t", 0), 7, 1)]
