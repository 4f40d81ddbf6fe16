"""Records are written in the form that the cluster has agreed on, and mean the same to whoever reads them."""

from __future__ import annotations

import pytest

from penstock.core.metadata.features import METADATA_LEVEL, METADATA_LEVEL_MIN, METADATA_VERSION
from penstock.core.metadata.fold import fold
from penstock.core.metadata.framing import decode_record, encode_record
from penstock.core.metadata.image import Image
from penstock.core.metadata.levels import fitting, level_of, version_at
from penstock.core.metadata.snapshot import image_records
from penstock.core.wire.stored.cluster_metadata import (
    BrokerRegistrationChangeRecord,
    FeatureLevelRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RegisterBrokerRecord,
    TopicRecord,
)
from tests.metadata.cluster import Cluster
from tests.metadata.test_image import content

TABLE = {
    # What Kafka's MetadataVersion says, by level: RegisterBroker, Partition and PartitionChange.
    7: (1, 0),
    8: (2, 0),
    16: (2, 0),
    17: (3, 1),
    22: (3, 1),
    23: (3, 2),
    29: (3, 2),
    30: (4, 2),
}


@pytest.mark.parametrize("level", TABLE)
def test_versions_by_level(level: int) -> None:
    registration, partition = TABLE[level]
    assert version_at(RegisterBrokerRecord, level) == registration
    assert version_at(PartitionRecord, level) == version_at(PartitionChangeRecord, level) == partition
    assert version_at(TopicRecord, level) == 0
    framed = encode_record(RegisterBrokerRecord(broker_id=1, log_dirs=[bytes(16)]), level)
    assert framed[2] == registration


@pytest.mark.parametrize("level", range(METADATA_LEVEL_MIN, METADATA_LEVEL + 1))
def test_a_snapshot_of_any_level_reads_as_the_image_it_was_made_of(level: int) -> None:
    cluster = Cluster(elr=False)
    cluster.apply([FeatureLevelRecord(name=METADATA_VERSION, feature_level=level)])
    for broker_id in (1, 2, 3):
        cluster.apply(
            fitting([RegisterBrokerRecord(broker_id=broker_id, broker_epoch=0, log_dirs=[bytes(15) + b"z"])], level)
        )
    cluster.apply(
        [
            BrokerRegistrationChangeRecord(broker_id=2, broker_epoch=0, fenced=-1),
            TopicRecord(name="t", topic_id=bytes(16)),
        ]
    )
    cluster.apply(
        fitting([PartitionRecord(partition_id=0, topic_id=bytes(16), replicas=[1, 2], isr=[2], leader=2)], level)
    )
    assert level_of(cluster.image.features) == level
    values = [encode_record(record, level) for record in image_records(cluster.image)]
    again, _ = fold(Image(), map(decode_record, values), cluster.image.offset)
    assert content(again) == content(cluster.image)


def test_an_empty_log_begins_at_the_newest_level() -> None:
    assert level_of({}) == METADATA_LEVEL
