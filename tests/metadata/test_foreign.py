"""What another cluster's metadata becomes on a node of ours."""

from __future__ import annotations

from penstock.core.metadata.features import METADATA_VERSION
from penstock.core.metadata.foreign import Home, adopt
from penstock.core.metadata.image import BROKER_RESOURCE, GROUP_RESOURCE, ORDINARY, TOPIC_RESOURCE, Image
from penstock.core.wire.stored.cluster_metadata import (
    AccessControlEntryRecord,
    ConfigRecord,
    PartitionChangeRecord,
    PartitionRecord,
    ProducerIdsRecord,
    TopicRecord,
)
from tests.metadata.cluster import SETTINGS, Cluster, topic_id

HOME = Home(9, b"d" * 16, SETTINGS)


def setting(kind: int, name: str, key: str, value: str) -> ConfigRecord:
    return ConfigRecord(resource_type=kind, resource_name=name, name=key, value=value)


def theirs() -> Cluster:
    cluster = Cluster([1, 2, 3])
    cluster.create("t", (1, 2, 3), (2, 3, 1))
    return cluster


def test_every_partition_is_here_alone_in_a_new_epoch() -> None:
    cluster = theirs()
    cluster.apply([PartitionChangeRecord(topic_id=topic_id("t"), partition_id=1, leader=3, isr=[3])])
    before = cluster.partition("t", 1)
    ours, remarks = adopt(cluster.image, HOME)
    topic = ours.topic("t")
    assert topic is not None
    assert topic.id == topic_id("t")
    for index in (0, 1):
        found = topic.partition(index)
        assert (found.replicas, found.isr, found.leader) == ((9,), (9,), 9)
        assert (found.directories, found.standing) == ((HOME.directory,), ORDINARY)
    assert topic.partition(1).leader_epoch == before.leader_epoch + 1
    assert topic.partition(1).partition_epoch > before.partition_epoch
    assert ours.offset == cluster.image.offset
    assert remarks == []


def test_it_begins_as_a_new_cluster_does_without_their_brokers_and_features() -> None:
    cluster = theirs()
    assert cluster.image.features[METADATA_VERSION]
    ours, _ = adopt(cluster.image, HOME)
    assert (ours.brokers, ours.controllers, ours.features) == ({}, {}, {})


def test_settings_that_we_understand_come_along_and_others_are_named() -> None:
    cluster = theirs()
    cluster.apply(
        [
            setting(TOPIC_RESOURCE, "t", "retention.ms", "1234"),
            setting(TOPIC_RESOURCE, "t", "no.such.setting", "1"),
            setting(TOPIC_RESOURCE, "t", "leader.replication.throttled.replicas", "0:1"),
            setting(BROKER_RESOURCE, "", "log.retention.ms", "77"),
            setting(BROKER_RESOURCE, "2", "log.cleaner.threads", "4"),
            setting(GROUP_RESOURCE, "g", "consumer.session.timeout.ms", "50000"),
        ]
    )
    ours, remarks = adopt(cluster.image, HOME)
    assert ours.config(TOPIC_RESOURCE, "t") == {"retention.ms": "1234"}
    assert ours.config(BROKER_RESOURCE, "")["log.retention.ms"] == "77"
    assert ours.config(BROKER_RESOURCE, "2") == {}
    assert ours.config(GROUP_RESOURCE, "g") == {"consumer.session.timeout.ms": "50000"}
    topic, broker = remarks
    assert broker == "left behind: settings of broker 2 alone (log.cleaner.threads)"
    assert topic.startswith("left behind: no.such.setting=1 of topic t (")


def test_what_we_have_no_machine_for_stays_behind() -> None:
    cluster = theirs()
    cluster.create("__share_group_state", (1,))
    cluster.create("__remote_log_metadata", (1,))
    cluster.create("__transaction_state", (1,))
    cluster.create("tiered", (1,))
    cluster.apply([setting(TOPIC_RESOURCE, "tiered", "remote.storage.enable", "true")])
    ours, remarks = adopt(cluster.image, HOME)
    assert sorted(ours.topics) == ["__share_group_state", "__transaction_state", "t"]
    assert [line.split(" (")[0] for line in remarks] == [
        "left behind: topic __remote_log_metadata",
        "left behind: topic tiered",
    ]


def test_ids_of_producers_are_never_given_twice_and_rights_are_kept() -> None:
    cluster = theirs()
    entry = AccessControlEntryRecord(
        id=b"i" * 16, resource_type=2, resource_name="t", pattern_type=3, principal="User:a", host="*", operation=3,
        permission_type=3,
    )  # fmt: skip
    cluster.apply([ProducerIdsRecord(broker_id=1, broker_epoch=1, next_producer_id=5000), entry])
    ours, remarks = adopt(cluster.image, HOME)
    assert ours.next_producer_id == 5000
    assert list(ours.access.entries.values()) == [entry]
    assert not remarks


def test_an_empty_cluster_is_no_special_case() -> None:
    assert adopt(Image(offset=3), HOME).image.offset == 3


def test_a_topic_by_the_metadata_logs_name_is_left_behind() -> None:
    cluster = theirs()
    partition = PartitionRecord(topic_id=b"m" * 16, partition_id=0, replicas=[1], isr=[1], leader=1)
    cluster.apply([TopicRecord(name="__cluster_metadata", topic_id=b"m" * 16), partition])
    ours, remarks = adopt(cluster.image, HOME)
    assert list(ours.topics) == ["t"]
    assert [remark for remark in remarks if "__cluster_metadata" in remark]
