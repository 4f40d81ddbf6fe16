"""What a node makes of its file: values, warnings, and refusals that say why."""

from pathlib import Path

import pytest

from penstock.core.base.endpoints import Endpoint
from penstock.core.base.settings import (
    BROKER_KEYS,
    BrokerSettings,
    Kind,
    SettingError,
    Standing,
    ip_limits,
    parse_properties,
    validate_dynamic,
)
from tests.settings.minimal import MINIMAL, settings

SHIPPED = (Path(__file__).resolve().parent / "shipped_server.properties").read_text()


def refusals(**changes: str) -> tuple[str, ...]:
    with pytest.raises(SettingError) as caught:
        settings(**changes)
    return caught.value.problems


def test_the_file_kafka_ships_is_taken_with_one_warning() -> None:
    shipped = BrokerSettings(parse_properties(SHIPPED))
    (warning,) = shipped.warnings
    assert "num.network.threads" in warning
    assert "share.coordinator" not in warning
    assert shipped.node_id == 1
    assert shipped.log_dir == shipped.metadata_log_dir == "/tmp/kraft-combined-logs"
    assert shipped.listeners.broker == (Endpoint("PLAINTEXT", "", 9092),)
    assert shipped.listeners.controller == (Endpoint("CONTROLLER", "", 9093),)
    assert shipped.listeners.advertised == (Endpoint("PLAINTEXT", "localhost", 9092),)


def test_values_are_typed_and_default_where_the_file_is_silent() -> None:
    given = settings(num_partitions="3")
    assert given["num.partitions"] == 3
    assert given["log.segment.bytes"] == 1 << 30
    assert given["broker.id"] == given["node.id"] == 1
    assert "num.partitions" in given
    assert "log.segment.bytes" not in given
    assert given.warnings == []


def test_what_is_missing_is_named_all_at_once() -> None:
    with pytest.raises(SettingError) as caught:
        BrokerSettings({})
    expected = ("controller.listener.names", "node.id", "process.roles")
    assert caught.value.problems == tuple(
        f'Missing required configuration "{name}" which has no default value.' for name in expected
    )


def test_the_older_name_of_the_node_id_stands_for_it() -> None:
    older = {name: value for name, value in MINIMAL.items() if name != "node.id"} | {"broker.id": "1"}
    assert BrokerSettings(older).node_id == 1
    assert refusals(broker_id="2") == ("You must set `node.id` to the same value as `broker.id`.",)
    with pytest.raises(SettingError, match="Value must be at least 0"):
        BrokerSettings(older | {"broker.id": "-1", "controller.quorum.voters": ""})


def test_every_bad_value_is_reported_in_one_go() -> None:
    assert len(refusals(num_partitions="0", fetch_max_bytes="x", log_dirs="/a,/b")) == 3


REFUSED = sorted(name for name, key in BROKER_KEYS.items() if key.standing is Standing.REFUSED)
OTHER_VALUES = {
    Kind.STRING: "other",
    Kind.CLASS: "org.example.Other",
    Kind.LIST: "other",
    Kind.PASSWORD: "secret",
    Kind.INT: "7",
    Kind.SHORT: "7",
    Kind.LONG: "7",
    Kind.DOUBLE: "0.123",
}
PARTICULAR_VALUES = {
    "security.inter.broker.protocol": "SSL",
    "ssl.client.auth": "required",
    "sasl.oauthbearer.assertion.algorithm": "ES256",
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_refused_setting_stops_the_start_and_says_why(name: str) -> None:
    key = BROKER_KEYS[name]
    flipped = str(not key.default).lower() if key.kind is Kind.BOOLEAN else OTHER_VALUES[key.kind]
    value = PARTICULAR_VALUES.get(name, flipped)
    with pytest.raises(SettingError) as caught:
        BrokerSettings(MINIMAL | {name: value})
    assert caught.value.problems == (f"{name} is refused: {key.why}",)
    assert "secret" not in str(caught.value).replace("secret.key", "").replace("client.secret", "")


def test_a_refused_setting_at_its_default_is_harmless() -> None:
    harmless = {"ssl.provider": "", "authorizer.class.name": "", "security.inter.broker.protocol": "PLAINTEXT"}
    harmless |= {"remote.log.storage.system.enable": "false", "ssl.keystore.location": ""}
    assert BrokerSettings(MINIMAL | harmless).warnings == []


def test_settings_for_one_listener() -> None:
    with pytest.raises(SettingError, match="OpenSSL's are used"):
        BrokerSettings(MINIMAL | {"listener.name.internal.ssl.provider": "BC"})
    with pytest.raises(SettingError, match="Kerberos is not supported"):
        BrokerSettings(MINIMAL | {"listener.name.internal.gssapi.sasl.kerberos.service.name": "x"})
    with pytest.raises(SettingError, match="it is for one listener and mechanism"):
        BrokerSettings(MINIMAL | {"sasl.jaas.config": "x"})
    (warning,) = BrokerSettings(MINIMAL | {"listener.name.internal.max.connections": "5"}).warnings
    assert "listener.name.internal.max.connections" in warning


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("log.segmnt.bytes", "did you mean log.segment.bytes?"),
        ("retention.ms", "it is a topic setting; the default of all topics is log.retention.ms"),
        ("remote.storage.enable", "it is set per topic only"),
        ("qqqqqq", "no setting has a name like it"),
    ],
)
def test_an_unknown_name_is_ignored_with_a_hint(name: str, hint: str) -> None:
    assert BrokerSettings(MINIMAL | {name: "1"}).warnings == [f"unknown setting {name} is ignored: {hint}"]


def test_names_that_kafka_has_dropped_have_no_meaning() -> None:
    (warning,) = BrokerSettings(
        MINIMAL | {"zookeeper.connect": "z:2181", "inter.broker.protocol.version": "3.9"}
    ).warnings
    assert "zookeeper.connect, inter.broker.protocol.version" in warning


AS_BROKER = {
    "process.roles": "broker",
    "listeners": "PLAINTEXT://127.0.0.1:9092",
    "controller.quorum.voters": "9@127.0.0.1:9093",
}
AS_CONTROLLER = {"process.roles": "controller", "listeners": "CONTROLLER://127.0.0.1:9093"}


def test_a_node_may_have_one_role() -> None:
    broker, controller = BrokerSettings(MINIMAL | AS_BROKER), BrokerSettings(MINIMAL | AS_CONTROLLER)
    assert (broker.is_broker, broker.is_controller) == (True, False)
    assert (controller.is_broker, controller.is_controller) == (False, True)
    assert [endpoint.name for endpoint in broker.listeners.broker] == ["PLAINTEXT"]
    assert not broker.listeners.controller
    assert not controller.listeners.broker


def test_a_controller_is_told_where_others_find_it() -> None:
    told = MINIMAL | {"advertised.listeners": "PLAINTEXT://a:1,CONTROLLER://b:2"}
    untold = MINIMAL | {"advertised.listeners": "PLAINTEXT://a:1"}
    assert BrokerSettings(told).listeners.advertised_controller[0][1:3] == ("b", 2)
    assert BrokerSettings(untold).listeners.advertised_controller[0][1:3] == ("127.0.0.1", 9093)
    assert [point.host for point in BrokerSettings(told).listeners.advertised] == ["a"]


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        (AS_BROKER | {"controller.quorum.voters": "1@a:1"}, "must not include the id 1 of a node that is a broker"),
        (AS_BROKER | {"controller.quorum.voters": ""}, "must be told where the controllers are"),
        (AS_BROKER | {"listeners": MINIMAL["listeners"]}, "take CONTROLLER out of listeners"),
        (AS_BROKER | {"listener.security.protocol.map": "PLAINTEXT:PLAINTEXT"}, "add CONTROLLER:PLAINTEXT"),
        (AS_BROKER | {"controller.quorum.auto.join.enable": "true"}, "only a controller can join"),
        (AS_BROKER | {"advertised.listeners": "OTHER://h:1"}, "no security protocol defined for listener OTHER"),
        (AS_CONTROLLER | {"controller.quorum.voters": ""}, "must be told where the controllers are"),
        (AS_CONTROLLER | {"controller.quorum.voters": "2@a:1"}, "must include the id 1 of this controller"),
        (AS_CONTROLLER | {"listeners": MINIMAL["listeners"]}, "take PLAINTEXT out of listeners"),
        (AS_CONTROLLER | {"controller.listener.names": "CONTROLLER,C2"}, "there is no C2"),
        (AS_CONTROLLER | {"inter.broker.listener.name": "CONTROLLER"}, "CONTROLLER is a listener of controllers"),
        (AS_CONTROLLER | {"listeners": "CONTROLLER://0.0.0.0:9093"}, "nonroutable"),
        ({"controller.quorum.voters": "1@a:1,1@b:1"}, "an id of its own"),
        ({"controller.quorum.voters": "2@a:1"}, "must include the id 1 of this controller"),
        ({"offsets.topic.compression.codec": "5"}, "Unknown compression type id: 5"),
        ({"share.coordinator.state.topic.compression.codec": "5"}, "Unknown compression type id: 5"),
        ({"log.dirs": "/a,/b"}, "one log directory"),
        ({"log.dir": "/a,/b"}, "one log directory"),
        ({"log.roll.ms": "0"}, "log.roll.ms must be greater than or equal to 1"),
        ({"log.roll.jitter.ms": "-1"}, "log.roll.jitter.ms must be greater than or equal to 0"),
        ({"log.retention.ms": "0"}, "must be unlimited (-1) or, greater than or equal to 1"),
        ({"log.retention.hours": "0"}, "must be unlimited (-1) or, greater than or equal to 1"),
        ({"log.cleaner.dedupe.buffer.size": "1048576"}, "more than 1 MiB"),
        ({"log.cleaner.min.compaction.lag.ms": "2", "log.cleaner.max.compaction.lag.ms": "1"}, "(2) > "),
        ({"replica.selector.class": "com.example.Selector"}, "RackAwareReplicaSelector is built in"),
        ({"replica.socket.timeout.ms": "499"}, "should always be at least replica.fetch.wait.max.ms"),
        ({"replica.lag.time.max.ms": "499"}, "less than or equal to replica.lag.time.max.ms"),
        ({"max.connections.per.ip": "0"}, "can be set to zero only if"),
        ({"max.connections.per.ip.overrides": "somewhere"}, "not of the form host:count"),
        ({"listeners": "PLAINTEXT://:9092"}, "there is no CONTROLLER"),
        ({"listeners": "CONTROLLER://:9093"}, "at least one broker advertised listener"),
        ({"listeners": "PLAINTEXT://:9092,CONTROLLER://:9092"}, "share 9092"),
        ({"listeners": "PLAINTEXT://:9092,plaintext://:9094,CONTROLLER://:9093"}, "different name"),
        ({"listeners": "PLAINTEXT//:9092,CONTROLLER://:9093"}, "unable to parse PLAINTEXT//:9092"),
        ({"listeners": "PLAINTEXT://:70000,CONTROLLER://:9093"}, "unable to parse"),
        ({"listeners": "INTERNAL://:9092,CONTROLLER://:9093"}, "no security protocol defined for listener INTERNAL"),
        ({"listeners": "SSL://:9092,CONTROLLER://:9093"}, "listener SSL encrypts and has no certificate"),
        ({"listeners": "A://:1,CONTROLLER://:2", "listener.security.protocol.map": "A:SASL_SSL,CONTROLLER:PLAINTEXT"},
         "listener A encrypts and has no certificate"),
        ({"listeners": "SSL://:9092,CONTROLLER://:9093", "ssl.keystore.location": "/k",
          "ssl.enabled.protocols": "SSLv3"},
         "SSLv3 is not spoken"),
        ({"listeners": "SSL://:9092,CONTROLLER://:9093", "ssl.keystore.location": "/k",
          "ssl.principal.mapping.rules": "RULE:^CN=(.*)$/$2/"}, "has no group 2"),
        ({"listener.security.protocol.map": "PLAINTEXT:QUIC"}, "Invalid security protocol `QUIC`"),
        ({"advertised.listeners": "PLAINTEXT://0.0.0.0:9092"}, "nonroutable"),
        ({"listeners": "PLAINTEXT://0.0.0.0:9092,CONTROLLER://:9093"}, "nonroutable"),
        ({"advertised.listeners": "SSL://h:9092"}, "there is no SSL"),
        ({"inter.broker.listener.name": "OTHER"}, "based on currently configured listeners are PLAINTEXT"),
        ({"inter.broker.listener.name": "PLAINTEXT", "security.inter.broker.protocol": "PLAINTEXT"}, "Only one of"),
    ],
)  # fmt: skip
def test_settings_that_do_not_fit_together(changes: dict[str, str], problem: str) -> None:
    with pytest.raises(SettingError) as caught:
        BrokerSettings(MINIMAL | changes)
    assert any(problem in sentence for sentence in caught.value.problems), caught.value.problems


def test_two_listeners_may_share_a_port_on_two_address_families_or_take_any_free_one() -> None:
    shared = settings(
        listeners="PLAINTEXT://127.0.0.1:9092,SIX://[::1]:9092,CONTROLLER://127.0.0.1:0,OTHER://127.0.0.1:0",
        listener_security_protocol_map="PLAINTEXT:PLAINTEXT,SIX:PLAINTEXT,CONTROLLER:PLAINTEXT,OTHER:PLAINTEXT",
    )
    assert shared.listeners.broker[1] == Endpoint("SIX", "::1", 9092)


def test_limits_for_certain_addresses() -> None:
    assert ip_limits("") == {}
    assert ip_limits("127.0.0.1:5, ::1:7") == {"127.0.0.1": 5, "::1": 7}


def test_the_units_of_retention_stand_in_for_each_other() -> None:
    assert settings().topic_default("retention.ms") == 168 * 3_600_000
    assert settings(log_retention_hours="1").topic_default("retention.ms") == 3_600_000
    assert settings(log_retention_hours="1", log_retention_minutes="1").topic_default("retention.ms") == 60_000
    all_three = settings(log_retention_hours="1", log_retention_minutes="1", log_retention_ms="5")
    assert all_three.topic_default("retention.ms") == 5
    assert settings(log_retention_hours="-2").topic_default("retention.ms") == -1


def test_other_defaults_of_topics() -> None:
    given = settings(log_roll_hours="2", log_flush_scheduler_interval_ms="9", message_max_bytes="77")
    assert given.topic_default("segment.ms") == 2 * 3_600_000
    assert given.topic_default("flush.ms") == 9
    assert settings(log_flush_scheduler_interval_ms="9", log_flush_interval_ms="4").topic_default("flush.ms") == 4
    assert given.topic_default("max.message.bytes") == 77
    assert given.topic_default("internal.segment.bytes") is None
    assert settings(group_share_session_timeout_ms="50000").group_default("share.session.timeout.ms") == 50_000


def test_what_is_set_while_running_comes_before_the_file() -> None:
    given = settings(log_retention_ms="1", num_partitions="4")
    changed = given.with_dynamic({"log.retention.ms": "3"}, {"log.retention.ms": "2", "message.max.bytes": "9"})
    assert (given["log.retention.ms"], changed["log.retention.ms"]) == (1, 3)
    assert changed["message.max.bytes"] == 9
    assert changed["num.partitions"] == 4
    assert changed.with_dynamic({}, {"log.retention.ms": "2"})["log.retention.ms"] == 2
    with pytest.raises(SettingError):
        given.with_dynamic({"ssl.provider": "BC"}, {})


def test_what_may_be_set_while_running() -> None:
    validate_dynamic({"log.retention.ms": "1", "custom.name": "1"}, per_broker=False)
    validate_dynamic({"listeners": "PLAINTEXT://:1"}, per_broker=True)
    with pytest.raises(SettingError, match=r"Cannot update these configs dynamically: \[num\.partitions\]"):
        validate_dynamic({"num.partitions": "2", "log.retention.ms": "1"}, per_broker=True)
    with pytest.raises(SettingError, match="broker id must be specified"):
        validate_dynamic({"listeners": "PLAINTEXT://:1"}, per_broker=False)
