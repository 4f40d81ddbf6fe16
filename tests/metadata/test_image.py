"""The image: all records fold, a snapshot of it folds to the same, and a partition costs few bytes."""

from __future__ import annotations

import gc
import tracemalloc
from collections import Counter
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.metadata import fold as folding
from penstock.core.metadata.access import AccessImage
from penstock.core.metadata.brokers import MIGRATING_DIRECTORY, broker_of, host_endpoint
from penstock.core.metadata.difference import difference
from penstock.core.metadata.fold import fold
from penstock.core.metadata.framing import decode_record, encode_record
from penstock.core.metadata.image import Image, PartitionImage, TopicImage, UnusualState
from penstock.core.metadata.snapshot import image_records
from penstock.core.wire.schema import StoredRecord
from penstock.core.wire.stored import cluster_metadata as stored
from tests.metadata.cluster import Cluster, topic_id

BROKERS = st.integers(0, 5)
SETS = st.lists(BROKERS, max_size=4, unique=True)
TOPICS = ["a", "b", "c"]
NAMES = st.sampled_from(TOPICS)
IDS = st.sampled_from([bytes([number]) * 16 for number in range(1, 4)])
ENTRIES = st.builds(
    stored.AccessControlEntryRecord, id=IDS, principal=NAMES, resource_type=st.integers(2, 3), resource_name=NAMES
)

PARTITION_CHANGES = st.fixed_dictionaries(
    {},
    optional={
        "isr": SETS,
        "leader": st.integers(-1, 5),
        "removing_replicas": SETS,
        "adding_replicas": SETS,
        "leader_recovery_state": st.integers(0, 1),
        "eligible_leader_replicas": SETS,
        "last_known_elr": SETS,
    },
)
OTHER_RECORDS = st.one_of(
    st.builds(stored.FeatureLevelRecord, name=NAMES, feature_level=st.integers(0, 2)),
    st.builds(stored.ProducerIdsRecord, next_producer_id=st.integers(1, 9)),
    st.builds(
        stored.RegisterControllerRecord,
        controller_id=BROKERS,
        incarnation_id=IDS,
        features=st.lists(
            st.builds(stored.ControllerFeature, name=NAMES, max_supported_version=st.integers(0, 3)),
            max_size=2,
            unique_by=lambda feature: feature.name,
        ),
    ),
    ENTRIES,
    st.builds(stored.RemoveAccessControlEntryRecord, id=IDS),
    st.builds(stored.UserScramCredentialRecord, name=NAMES, mechanism=st.integers(1, 2), iterations=st.integers(1, 9)),
    st.builds(stored.RemoveUserScramCredentialRecord, name=NAMES, mechanism=st.integers(1, 2)),
    st.builds(stored.DelegationTokenRecord, token_id=NAMES, owner=NAMES),
    st.builds(stored.RemoveDelegationTokenRecord, token_id=NAMES),
    st.builds(
        stored.ClientQuotaRecord,
        entity=st.sampled_from([("user", "ann"), ("user", None), ("client-id", "x")]).map(
            lambda pair: [stored.EntityData(entity_type=pair[0], entity_name=pair[1])]
        ),
        key=NAMES,
        value=st.floats(0, 9),
        remove=st.booleans(),
    ),
    st.builds(
        stored.ConfigRecord,
        resource_type=st.just(4),
        resource_name=st.sampled_from(["", "1"]),
        name=NAMES,
        value=st.none() | NAMES,
    ),
    st.builds(stored.NoOpRecord),
    st.builds(stored.ZkMigrationStateRecord),
)


def content(image: Image) -> dict[str, Any]:
    """All of an image that must survive, as plain values."""
    return {
        "topics": {
            name: (topic.id, [topic.partition(index) for index in range(len(topic))])
            for name, topic in image.topics.items()
        },
        "names": dict(image.names.items()),
        "unified": dict(image.unified_names.items()),
        "configs": dict(image.configs.items()),
        "brokers": image.brokers,
        "controllers": image.controllers,
        "features": image.features,
        "next_producer_id": image.next_producer_id,
        "access": image.access,
        "tally": image.tally,
        "unfinished": image.unfinished,
    }


class Author:
    """Writes records that a controller could have written: they only name what exists."""

    def __init__(self, data: st.DataObject) -> None:
        self.draw = data.draw
        self.partitions: dict[str, int] = {}
        self.brokers: dict[int, int] = {}

    def records(self, count: int) -> list[StoredRecord]:
        made = []
        for _ in range(count):
            kinds = [self.other, self.register, self.create, self.clear]
            kinds += [self.grow, self.change, self.remove] if self.partitions else []
            kinds += [self.change_broker] if self.brokers else []
            made += self.draw(st.sampled_from(kinds))()
        return made

    def other(self) -> list[StoredRecord]:
        return [self.draw(OTHER_RECORDS)]

    def create(self) -> list[StoredRecord]:
        name = self.draw(NAMES)
        if name in self.partitions:
            return []
        self.partitions[name] = 0
        return [stored.TopicRecord(name=name, topic_id=topic_id(name)), *self.grow(name)]

    def grow(self, name: str | None = None) -> list[StoredRecord]:
        name = name or self.draw(st.sampled_from(sorted(self.partitions)))
        index = self.partitions[name]
        self.partitions[name] += 1
        replicas = self.draw(st.lists(BROKERS, min_size=1, max_size=4, unique=True))
        return [
            stored.PartitionRecord(
                partition_id=index,
                topic_id=topic_id(name),
                replicas=replicas,
                isr=replicas,
                leader=replicas[0],
                leader_epoch=0,
                partition_epoch=0,
                directories=[bytes([7]) * 16] * len(replicas),
            )
        ]

    def change(self) -> list[StoredRecord]:
        name = self.draw(st.sampled_from(sorted(self.partitions)))
        index = self.draw(st.integers(0, self.partitions[name] - 1))
        changes = self.draw(PARTITION_CHANGES)
        return [stored.PartitionChangeRecord(topic_id=topic_id(name), partition_id=index, **changes)]

    def clear(self) -> list[StoredRecord]:
        return [stored.ClearElrRecord(topic_name=self.draw(st.sampled_from(["", *sorted(self.partitions)])))]

    def remove(self) -> list[StoredRecord]:
        name = self.draw(st.sampled_from(sorted(self.partitions)))
        del self.partitions[name]
        return [stored.RemoveTopicRecord(topic_id=topic_id(name))]

    def register(self) -> list[StoredRecord]:
        broker_id = self.draw(BROKERS)
        epoch = self.brokers[broker_id] = self.draw(st.integers(0, 99))
        points = [stored.BrokerEndpoint(name="PLAINTEXT", host="h", port=1)]
        if self.draw(st.booleans()):
            point = host_endpoint("machine")
            points.append(stored.BrokerEndpoint(name=point.name, host=point.host, port=point.port))
        return [
            stored.RegisterBrokerRecord(
                broker_id=broker_id,
                broker_epoch=epoch,
                incarnation_id=self.draw(IDS),
                end_points=points,
                rack=self.draw(st.none() | NAMES),
                fenced=self.draw(st.booleans()),
                log_dirs=self.draw(st.lists(IDS, max_size=2)),
                cordoned_log_dirs=self.draw(st.none() | st.lists(IDS, max_size=2)),
            )
        ]

    def change_broker(self) -> list[StoredRecord]:
        broker_id = self.draw(st.sampled_from(sorted(self.brokers)))
        epoch = self.brokers[broker_id]
        what = self.draw(st.integers(0, 3))
        if what == 0:
            del self.brokers[broker_id]
            return [stored.UnregisterBrokerRecord(broker_id=broker_id, broker_epoch=epoch)]
        if what == 1:
            return [stored.FenceBrokerRecord(id=broker_id, epoch=epoch)]
        if what == 2:
            return [stored.UnfenceBrokerRecord(id=broker_id, epoch=epoch)]
        return [
            stored.BrokerRegistrationChangeRecord(
                broker_id=broker_id,
                broker_epoch=epoch,
                fenced=self.draw(st.integers(-1, 1)),
                in_controlled_shutdown=self.draw(st.integers(0, 1)),
                log_dirs=self.draw(st.lists(IDS, max_size=2)),
                cordoned_log_dirs=self.draw(st.none() | st.lists(IDS, max_size=2)),
            )
        ]


@given(st.data(), st.integers(0, 25))
def test_a_snapshot_folds_to_the_image_it_was_made_of(data: st.DataObject, count: int) -> None:
    image, _ = fold(Image(), Author(data).records(count), count)
    stored_bytes = [encode_record(record) for record in image_records(image)]
    again, _ = fold(Image(), [decode_record(each) for each in stored_bytes], count)
    assert content(again) == content(image)


def test_what_has_no_settings_left_is_forgotten() -> None:
    def set_to(value: str | None) -> stored.ConfigRecord:
        return stored.ConfigRecord(resource_type=4, resource_name="1", name="a", value=value)

    before, _ = fold(Image(), [set_to("1")], 1)
    after, delta = fold(before, [set_to(None)], 2)
    assert delta.configs == {"4/1"}
    assert content(after) == content(Image())


@given(st.data(), st.integers(0, 25), st.integers(0, 25))
def test_where_a_run_is_cut_changes_nothing(data: st.DataObject, count: int, cut: int) -> None:
    records = Author(data).records(count)
    at_once, _ = fold(Image(), records, count)
    first, _ = fold(Image(), records[:cut], cut)
    kept = content(first)
    second, _ = fold(first, records[cut:], count)
    assert content(second) == content(at_once)
    assert content(first) == kept, "folding changed an image that others read"


@given(st.data(), st.integers(0, 25))
def test_the_tally_is_what_a_count_finds(data: st.DataObject, count: int) -> None:
    image, _ = fold(Image(), Author(data).records(count), count)
    partitions = [topic.partition(index) for topic in image.topics.values() for index in range(len(topic))]
    assert dict(image.tally.leading) == dict(Counter(partition.leader for partition in partitions))
    assert image.tally.reassigning == sum(bool(each.standing.adding or each.standing.removing) for each in partitions)


@given(st.data(), st.integers(0, 25), BROKERS)
def test_scans_find_what_looking_at_each_partition_finds(data: st.DataObject, count: int, broker: int) -> None:
    image, _ = fold(Image(), Author(data).records(count), count)
    for topic in image.topics.values():
        partitions = [(index, topic.partition(index)) for index in range(len(topic))]
        assert topic.counting_on(broker) == [n for n, p in partitions if broker in p.isr or broker in p.standing.elr]
        assert topic.placed_on(broker) == [n for n, p in partitions if broker in p.replicas]
        assert topic.leaderless() == [n for n, p in partitions if p.leader == -1]
        assert topic.unpreferred() == [n for n, p in partitions if p.leader not in (-1, p.replicas[0])]
        assert topic.reassigning() == [n for n, p in partitions if p.is_reassigning]


def test_every_record_of_the_metadata_log_folds() -> None:
    declared = {cls for cls in vars(stored).values() if isinstance(cls, type) and issubclass(cls, StoredRecord)}
    assert declared - {StoredRecord} == set(folding._APPLY)


def test_a_transaction_counts_when_it_ends_and_an_aborted_one_never_does() -> None:
    topic = stored.TopicRecord(name="t", topic_id=topic_id("t"))
    begun, _ = fold(Image(), [stored.BeginTransactionRecord(), topic], 1)
    assert begun.topic("t") is None
    assert begun.unfinished == (topic,)
    ended, delta = fold(begun, [stored.EndTransactionRecord()], 2)
    assert ended.topic("t") is not None
    assert delta.topics == {"t"}
    aborted, _ = fold(begun, [stored.AbortTransactionRecord()], 2)
    assert aborted.topic("t") is None
    assert aborted.unfinished is None


def test_records_of_replaced_brokers_are_our_own_mistake() -> None:
    cluster = Cluster([1])
    with pytest.raises(AssertionError, match="epoch"):
        cluster.apply([stored.FenceBrokerRecord(id=1, epoch=cluster.broker(1).epoch + 1)])
    with pytest.raises(AssertionError, match="unknown broker"):
        cluster.apply([stored.FenceBrokerRecord(id=9, epoch=0)])


def test_the_machine_of_a_broker_travels_as_a_listener() -> None:
    cluster = Cluster()
    cluster.join(1, host="rack-7-machine-3")
    cluster.join(2)
    assert cluster.broker(1).host == "rack-7-machine-3"
    assert [point.name for point in cluster.broker(1).endpoints] == ["PLAINTEXT"]
    assert cluster.broker(2).host is None


def test_a_partition_without_directories_has_them_where_they_always_were() -> None:
    record = stored.PartitionRecord(partition_id=0, topic_id=topic_id("t"), replicas=[1, 2], isr=[1], leader=1)
    image, _ = fold(Image(), [stored.TopicRecord(name="t", topic_id=topic_id("t")), record], 1)
    topic = image.topic("t")
    assert topic is not None
    assert topic.partition(0).directories == (MIGRATING_DIRECTORY, MIGRATING_DIRECTORY)


def test_an_older_registration_says_nothing_of_cordoned_directories() -> None:
    assert broker_of(stored.RegisterBrokerRecord(broker_id=1, broker_epoch=1), 0).cordoned is None
    assert AccessImage() == AccessImage({}, {}, {}, {}, {})


def by_pattern(entries: Iterable[stored.AccessControlEntryRecord]) -> dict[Any, Any]:
    """What `AccessImage.rules` has to be, made at once."""
    rules: dict[Any, Any] = {}
    for entry in entries:
        pattern = (entry.resource_type, entry.pattern_type, entry.resource_name)
        rules.setdefault(pattern, {}).setdefault(entry.principal, {})[entry.id] = entry
    return rules


@given(st.lists(st.lists(ENTRIES | st.builds(stored.RemoveAccessControlEntryRecord, id=IDS), max_size=8), max_size=6))
def test_rules_are_found_by_what_they_are_about_in_every_image(
    batches: list[list[stored.AccessControlEntryRecord | stored.RemoveAccessControlEntryRecord]],
) -> None:
    """Images share what did not change, so each is looked at again when all of them were made."""
    images = [Image()]
    for batch in batches:
        images.append(fold(images[-1], batch, images[-1].offset + len(batch))[0])
    for image in images:
        assert image.access.rules == by_pattern(image.access.entries.values())


def test_a_change_of_one_rule_shares_all_others() -> None:
    rules = [stored.AccessControlEntryRecord(id=bytes([at] * 16), resource_name=f"t{at}") for at in range(3)]
    before, _ = fold(Image(), rules, 3)
    after, _ = fold(before, [stored.RemoveAccessControlEntryRecord(id=rules[0].id)], 4)
    kept = [pattern for pattern in after.access.rules if pattern in before.access.rules]
    assert len(kept) == 2
    assert all(after.access.rules[pattern] is before.access.rules[pattern] for pattern in kept)


def test_a_partition_costs_few_bytes_that_no_collector_walks() -> None:
    count, brokers = 30_000, 30
    tracemalloc.start()
    topic = _large_topic(count, brokers)
    traced, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    columns = [topic.leaders, topic.leader_epochs, topic.partition_epochs]
    columns += [column.codes for column in (topic.replicas, topic.isrs, topic.directories, topic.standings)]
    assert all(gc.get_referents(column) == [type(column)] for column in columns), "the collector sees elements"
    per_partition = traced / count
    print(f"\na partition costs {per_partition:.1f} bytes ({count} partitions on {brokers} brokers)")
    assert per_partition < 64


def _large_topic(count: int, brokers: int) -> TopicImage:
    topic = TopicImage("large", topic_id("large"))
    for index in range(count):
        replicas = tuple((index + offset) % brokers for offset in range(3))
        directories = tuple(bytes([replica]) * 16 for replica in replicas)
        standing = UnusualState(elr=replicas[2:]) if index % 3 == 0 else UnusualState()
        topic.put(index, PartitionImage(replicas, replicas[:2], replicas[0], 1_000 + index, 1, directories, standing))
    return topic


def test_who_acts_on_a_change_sees_which_topics_have_new_partitions() -> None:
    def partition(index: int) -> stored.PartitionRecord:
        return stored.PartitionRecord(partition_id=index, topic_id=topic_id("t"), replicas=[1], isr=[1], leader=1)

    created, delta = fold(Image(), [stored.TopicRecord(name="t", topic_id=topic_id("t")), partition(0)], 1)
    assert delta.grown == {"t"}
    led = stored.PartitionChangeRecord(partition_id=0, topic_id=topic_id("t"), leader=-1)
    _, delta = fold(created, [led], 2)
    assert (delta.topics, delta.grown) == ({"t"}, set())
    grown, delta = fold(created, [partition(1)], 3)
    assert delta.grown == {"t"}
    _, delta = fold(grown, [partition(2), stored.RemoveTopicRecord(topic_id=topic_id("t"))], 4)
    assert (set(delta.removed), delta.grown) == ({"t"}, set())
    assert difference(created, grown).grown == {"t"}
