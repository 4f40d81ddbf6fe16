"""What the tests of share groups have in common: a topic, a group that begins where the topic does, and its records."""

from __future__ import annotations

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from penstock.client.blocking import Client
from penstock.core.metadata.image import GROUP_RESOURCE
from penstock.core.wire.api.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)

SECONDS_MAX = 60.0


def create_topic(bootstrap: str, topic: str, partitions: int) -> None:
    # The client lives as long as somebody knows it.
    admin = AdminClient({"bootstrap.servers": bootstrap})
    (made,) = admin.create_topics([NewTopic(topic, partitions, 1)]).values()
    made.result(SECONDS_MAX)


def configure(bootstrap: str, group: str, **own: str) -> None:
    """Settings of a group; it begins where its topics do."""
    wanted = {"share_auto_offset_reset": "earliest", **own}
    configs = [
        AlterableConfig(name=name.replace("_", "."), config_operation=0, value=value) for name, value in wanted.items()
    ]
    resource = AlterConfigsResource(resource_type=GROUP_RESOURCE, resource_name=group, configs=configs)
    with Client(bootstrap) as client:
        answer = client.ask(IncrementalAlterConfigsRequest(resources=[resource]), IncrementalAlterConfigsResponse)
    assert answer.responses[0].error_code == 0, answer.responses[0].error_message


def publish(bootstrap: str, topic: str, count: int) -> None:
    """The numbers from 0 on, in all partitions: one that nobody wrote to need not have an offset of the group yet."""
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 5, "enable.idempotence": True})
    for number in range(count):
        producer.produce(topic, b"%d" % number, key=b"%d" % number)
    assert producer.flush(SECONDS_MAX) == 0
