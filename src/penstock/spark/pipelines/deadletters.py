"""Dead letters: a bad record goes to another topic as it came, with headers that say where from, why, how often."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from penstock.client.admin import TOPIC, Admin
from penstock.client.blocking import Client
from penstock.client.errors import ClientError
from penstock.client.producing import Producer
from penstock.core.base.errors import ErrorCode
from penstock.core.delivery.dead_letter import SUFFIX, Origin, dead_letter_headers
from penstock.spark.pipelines.cluster import Cluster, cluster_named_by
from penstock.spark.pipelines.declaration import Pipeline, TopicSink, TopicSource

if TYPE_CHECKING:
    from penstock.spark.pipelines.decoding import DeadLetter

CLIENT_ID: Final = "penstock-dead-letters"
# A node that restarts is waited for: the batch must neither fail nor lose its dead letters.
TIMEOUT_S: Final = 60.0
# What our headers add at most to a record: names, a topic's and a pipeline's name, and the bounded texts in UTF-8.
HEADER_BYTES_MAX: Final = 8_192
MAX_MESSAGE_BYTES: Final = "max.message.bytes"

_clients: dict[tuple[int, Cluster], Client] = {}


def headers_of(letter: DeadLetter, pipeline: str) -> list[tuple[str, bytes | None]]:
    """The record's own headers, then where it comes from and what was wrong with it."""
    record, reason = letter
    origin = Origin(record.topic, record.partition, record.offset, record.timestamp)
    return dead_letter_headers(record.headers, origin, reason, f"pipeline={pipeline}")


def bury(letters: Sequence[DeadLetter], cluster: Cluster, pipeline: str, topics: Mapping[str, str]) -> None:
    """Produce dead letters to the topics that theirs map to; returns once they are acknowledged."""
    client = _client(cluster)
    try:
        producer = Producer(client)
        send(client, producer, letters, pipeline, topics)
        producer.flush()
    except BaseException:
        # Whatever is half said on these connections must not be heard by the next batch.
        _clients.pop((os.getpid(), cluster), None)
        client.close()
        raise


def send(
    client: Client, producer: Producer, letters: Sequence[DeadLetter], pipeline: str, topics: Mapping[str, str]
) -> None:
    """Give dead letters to a producer, each for the topic that its own maps to."""
    for letter in letters:
        record = letter.record
        topic = topics.get(record.topic) or record.topic + SUFFIX
        # The same partition as before where there is one, so that the order of a key survives.
        partition = record.partition % len(client.topic(topic, create=True).partitions)
        producer.send(topic, record.key, record.value, headers_of(letter, pipeline), partition=partition)


def _client(cluster: Cluster) -> Client:
    """A client of this worker, kept between batches; a forked worker does not share its parent's sockets."""
    key = (os.getpid(), cluster)
    if key not in _clients:
        _clients[key] = cluster.client(CLIENT_ID, TIMEOUT_S)
    return _clients[key]


def create_topics(pipeline: Pipeline, client: Client) -> None:
    """Create the dead letter topics that are not there yet, in the cluster that each source reads."""
    for source in pipeline.sources:
        if source.decode is None:
            continue
        if source.cluster is None:
            _create_topics(pipeline.name, source, client)
        else:
            with cluster_named_by(source, source.cluster).client(CLIENT_ID) as elsewhere:
                _create_topics(pipeline.name, source, elsewhere)

    for sink in pipeline.sinks:
        # In another cluster they come into being with the first.
        if isinstance(sink, TopicSink) and sink.encode is not None and not sink.is_elsewhere:
            assert sink.topic is not None, "a sink that encodes names its topic"
            count = len(client.topic(sink.topic, create=True).partitions)
            _create(Admin(client), sink.dead_letter_topic, count, {})


def _create(admin: Admin, topic: str, partitions: int, configs: Mapping[str, str]) -> None:
    try:
        admin.create_topic(topic, partitions, configs=configs)
    except ClientError as failure:
        if failure.code != ErrorCode.TOPIC_ALREADY_EXISTS:
            raise


def _create_topics(pipeline: str, source: TopicSource, client: Client) -> None:
    """Each with as many partitions as its origin, and room for the largest record with its headers."""
    admin = Admin(client)
    for topic in source.topics:
        letters = source.dead_letter_topic(topic)
        try:
            origin = client.topic(topic)
        except ClientError as failure:
            if failure.code != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                raise
            raise ClientError(
                f"pipeline {pipeline}: its topic {topic} does not exist",
                hint=f"create it with `penstock topic create {topic}`",
            ) from None
        limits = admin.describe_configs(TOPIC, topic, [MAX_MESSAGE_BYTES])
        most = next((int(one.value) for one in limits if one.value), 0)
        configs = {MAX_MESSAGE_BYTES: str(most + HEADER_BYTES_MAX)} if most else {}
        _create(admin, letters, len(origin.partitions), configs)
