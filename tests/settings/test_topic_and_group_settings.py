"""The resolved view of one topic, and what may be set for a topic or a group."""

import pytest

from penstock.core.base.settings import (
    TOPIC_KEYS,
    SettingError,
    TopicSettings,
    validate_group_overrides,
    validate_topic_overrides,
)
from penstock.core.base.settings.group import in_force
from tests.settings.minimal import settings


def test_a_topic_without_overrides_has_kafkas_defaults() -> None:
    topic = TopicSettings(settings(), {})
    assert (topic.segment_bytes, topic.segment_ms, topic.segment_jitter_ms) == (1 << 30, 604_800_000, 0)
    assert (topic.segment_index_bytes, topic.index_interval_bytes) == (10 << 20, 4096)
    assert (topic.retention_ms, topic.retention_bytes) == (604_800_000, -1)
    assert topic.cleanup_policy == {"delete"}
    assert (topic.min_compaction_lag_ms, topic.max_compaction_lag_ms) == (0, (1 << 63) - 1)
    assert (topic.delete_retention_ms, topic.min_cleanable_dirty_ratio) == (86_400_000, 0.5)
    assert (topic.flush_messages, topic.flush_ms) == ((1 << 63) - 1, (1 << 63) - 1)
    assert (topic.compression_type, topic.compression_level) == ("producer", None)
    assert (topic.max_message_bytes, topic.message_timestamp_type) == (1_048_588, "CreateTime")
    assert topic.message_timestamp_before_max_ms == (1 << 63) - 1
    assert topic.message_timestamp_after_max_ms == 3_600_000
    assert (topic.min_insync_replicas, topic.file_delete_delay_ms) == (1, 60_000)
    assert not topic.preallocate
    assert not topic.unclean_leader_election_enable


def test_the_topic_comes_before_its_broker() -> None:
    broker = settings(log_segment_bytes="2097152", log_retention_hours="1", min_insync_replicas="2")
    topic = TopicSettings(broker, {"segment.bytes": "1048576", "cleanup.policy": "compact,delete"})
    assert topic.segment_bytes == 1 << 20
    assert topic.retention_ms == 3_600_000
    assert topic.min_insync_replicas == 2
    assert topic.cleanup_policy == {"compact", "delete"}
    assert topic.is_compacted


def test_an_empty_policy_keeps_everything() -> None:
    topic = TopicSettings(settings(), {"cleanup.policy": ""})
    assert topic.cleanup_policy == frozenset()
    assert not topic.is_compacted


def test_the_internal_segment_size_goes_below_the_minimum() -> None:
    assert TopicSettings(settings(), {"internal.segment.bytes": "100"}).segment_bytes == 100


def test_a_compacted_topic_rolls_in_time_for_its_longest_wait() -> None:
    waits = {"segment.ms": "1000", "max.compaction.lag.ms": "300"}
    assert TopicSettings(settings(), waits).roll_ms == 1000
    assert TopicSettings(settings(), waits | {"cleanup.policy": "compact"}).roll_ms == 300


@pytest.mark.parametrize("codec", ["gzip", "lz4", "zstd"])
def test_the_level_goes_with_the_codec(codec: str) -> None:
    topic = TopicSettings(settings(), {"compression.type": codec, f"compression.{codec}.level": "4"})
    assert (topic.compression_type, topic.compression_level) == (codec, 4)
    assert (topic.sealed_compression_type, topic.sealed_compression_level) == ("none", None)
    topic = TopicSettings(settings(), {"penstock.sealed.compression.type": codec, f"compression.{codec}.level": "4"})
    assert (topic.compression_type, topic.compression_level) == ("producer", None)
    assert (topic.sealed_compression_type, topic.sealed_compression_level) == (codec, 4)


# Controllers and throttles read these from the metadata, not from the view that a log has of its topic.
READ_ELSEWHERE = {
    "follower.replication.throttled.replicas",
    "leader.replication.throttled.replicas",
    "unclean.leader.election.enable",
}


def test_every_acting_override_changes_the_view() -> None:
    others = {
        "cleanup.policy": "compact",
        "compression.type": "lz4",
        "message.timestamp.type": "LogAppendTime",
        "min.cleanable.dirty.ratio": "0.25",
        "penstock.acks.required": "all",
        "penstock.batch.validation": "records",
        "penstock.sealed.compression.type": "zstd",
        "penstock.key.schema.validation": "id",
        "penstock.key.subject.name.strategy": "record",
        "penstock.schema.validation.on.failure": "dlq",
        "penstock.value.schema.validation": "payload",
        "penstock.value.subject.name.strategy": "topic-record",
    }
    plain = TopicSettings(settings(), {})
    for name, key in TOPIC_KEYS.items():
        if key.standing.value != "acts" or name.endswith(".level") or name in READ_ELSEWHERE:
            continue
        changed = TopicSettings(settings(), {name: others.get(name, "1048577")})
        slots = [slot for slot in TopicSettings.__slots__ if slot != "overrides"]
        differing = [slot for slot in slots if getattr(plain, slot) != getattr(changed, slot)]
        assert differing[:1], name


def test_the_brokers_lags_count_where_the_topic_is_silent() -> None:
    validate_topic_overrides({"min.compaction.lag.ms": "10"})
    with pytest.raises(SettingError, match=r"min\.compaction\.lag\.ms \(10\) > max\.compaction\.lag\.ms \(9\)"):
        validate_topic_overrides({"min.compaction.lag.ms": "10"}, settings(log_cleaner_max_compaction_lag_ms="9"))


def test_an_unknown_topic_setting_is_refused() -> None:
    with pytest.raises(SettingError, match=r"^Unknown topic config name: retention\.hours$"):
        validate_topic_overrides({"retention.hours": "1"})


@pytest.mark.parametrize(
    ("overrides", "problem"),
    [
        ({"unknown": "1"}, "Unknown group config name: unknown"),
        (
            {"consumer.session.timeout.ms": "1"},
            "must be greater than or equal to group.consumer.min.session.timeout.ms",
        ),
        (
            {"consumer.session.timeout.ms": "60001"},
            "must be less than or equal to group.consumer.max.session.timeout.ms",
        ),
        ({"share.delivery.count.limit": "11"}, "must be less than or equal to group.share.max.delivery.count.limit"),
        ({"streams.num.standby.replicas": "3"}, "must be less than or equal to group.streams.max.standby.replicas"),
        ({"share.heartbeat.interval.ms": "x"}, "Not a number of type INT"),
    ],
)
def test_group_settings_stay_within_the_brokers_bounds(overrides: dict[str, str], problem: str) -> None:
    with pytest.raises(SettingError) as caught:
        validate_group_overrides(overrides, settings())
    assert problem in str(caught.value)


def test_group_settings_that_fit() -> None:
    validate_group_overrides(
        {"consumer.session.timeout.ms": "50000", "share.isolation.level": "read_committed"}, settings()
    )


def test_a_session_outlives_a_heartbeat() -> None:
    broker = settings(group_consumer_min_session_timeout_ms="1", group_consumer_session_timeout_ms="45000")
    with pytest.raises(SettingError, match=r"consumer\.session\.timeout\.ms must be greater than"):
        validate_group_overrides({"consumer.session.timeout.ms": "5000"}, broker)


@pytest.mark.parametrize(("own", "expected"), [("30000", 45_000), ("50000", 50_000), ("90000", 60_000)])
def test_what_a_group_said_counts_within_the_bounds_of_today(own: str, expected: int) -> None:
    assert in_force("consumer.session.timeout.ms", {"consumer.session.timeout.ms": own}, settings()) == expected


def test_without_a_word_of_its_own_a_group_has_its_brokers_settings() -> None:
    broker = settings(group_consumer_heartbeat_interval_ms="7000")
    assert in_force("consumer.heartbeat.interval.ms", {"consumer.session.timeout.ms": "50000"}, broker) == 7_000
    assert in_force("share.isolation.level", {"share.isolation.level": "read_committed"}, broker) == "read_committed"
