"""What clients are told; files without dynamic changes are compared with Kafka in test_against_kafka."""

from penstock.core.base.settings import (
    BrokerSettings,
    Described,
    Origin,
    Source,
    describe_broker,
    describe_cluster_default,
    describe_group,
    describe_topic,
)
from tests.settings.minimal import MINIMAL, settings


def of_broker(given: BrokerSettings, name: str) -> Described:
    return next(described for described in describe_broker(given) if described.name == name)


def test_every_layer_is_an_origin_and_the_strongest_wins() -> None:
    given = settings(message_max_bytes="4").with_dynamic({"message.max.bytes": "2"}, {"message.max.bytes": "3"})
    described = next(
        one for one in describe_topic(given, {"max.message.bytes": "1"}) if one.name == "max.message.bytes"
    )
    assert (described.value, described.source) == ("1", Source.TOPIC)
    assert described.synonyms == (
        Origin("max.message.bytes", "1", Source.TOPIC),
        Origin("message.max.bytes", "2", Source.DYNAMIC_BROKER),
        Origin("message.max.bytes", "3", Source.DYNAMIC_DEFAULT_BROKER),
        Origin("message.max.bytes", "4", Source.STATIC_BROKER),
        Origin("message.max.bytes", "1048588", Source.DEFAULT),
    )
    assert not described.is_default


def test_units_are_synonyms_from_the_named_one_on() -> None:
    described = of_broker(settings(log_retention_ms="5", log_retention_hours="1"), "log.retention.ms")
    assert [(origin.name, origin.source) for origin in described.synonyms] == [
        ("log.retention.ms", Source.STATIC_BROKER),
        ("log.retention.hours", Source.STATIC_BROKER),
        ("log.retention.hours", Source.DEFAULT),
    ]
    assert of_broker(settings(log_retention_hours="1"), "log.retention.ms").synonyms == ()


def test_what_can_change_is_not_read_only() -> None:
    assert of_broker(settings(), "num.partitions").read_only
    assert not of_broker(settings(), "log.retention.ms").read_only


def test_what_a_running_node_refuses_to_change_is_described_so() -> None:
    for name in ("listeners", "listener.security.protocol.map", "ssl.cipher.suites"):
        assert of_broker(settings(), name).read_only, name


def test_secrets_and_names_nobody_knows_are_not_shown() -> None:
    given = BrokerSettings(MINIMAL | {"ssl.keystore.password": "", "my.plugin.token": "hunter2"})
    for name in ("ssl.keystore.password", "my.plugin.token"):
        described = of_broker(given, name)
        assert described.is_sensitive
        assert described.value is None
        assert [origin.value for origin in described.synonyms] == [None]


def test_hidden_settings_are_listed_only_when_set() -> None:
    names = {described.name for described in describe_broker(settings())}
    assert "log.initial.task.delay.ms" not in names
    assert of_broker(settings(log_initial_task_delay_ms="5"), "log.initial.task.delay.ms").value == "5"
    assert "internal.segment.bytes" not in {described.name for described in describe_topic(settings(), {})}


def test_defaults_for_all_brokers_show_only_what_was_set() -> None:
    given = settings(message_max_bytes="4").with_dynamic({"message.max.bytes": "2"}, {"message.max.bytes": "3"})
    (described,) = describe_cluster_default(given)
    assert (described.name, described.value) == ("message.max.bytes", "3")
    assert described.synonyms == (Origin("message.max.bytes", "3", Source.DYNAMIC_DEFAULT_BROKER),)
    assert described.source is Source.DYNAMIC_DEFAULT_BROKER


def test_a_group_inherits_from_its_broker() -> None:
    described = {one.name: one for one in describe_group(settings(), {"share.session.timeout.ms": "46000"})}
    session = described["share.session.timeout.ms"]
    assert [(origin.name, origin.value, origin.source) for origin in session.synonyms] == [
        ("share.session.timeout.ms", "46000", Source.GROUP),
        ("group.share.session.timeout.ms", "45000", Source.DEFAULT),
    ]
    reset = described["share.auto.offset.reset"]
    assert (reset.value, reset.source) == ("latest", Source.DEFAULT)
    assert reset.synonyms == (Origin("share.auto.offset.reset", "latest", Source.DEFAULT),)
