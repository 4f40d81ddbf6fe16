"""Which of the `kafka.*` options act, which are passed over, and which are refused in one line."""

import pickle
import warnings

import pytest
from pyspark.sql.types import StructType

from penstock.client.security import SECRETS
from penstock.core.peer.login import Identity
from penstock.core.records.codecs import Codec
from penstock.spark.rows import ReadTask, sink_settings
from penstock.spark.rows.settings import ClientSettings, SettingRefused
from penstock.spark.source.errors import OptionError
from penstock.spark.source.tables import with_options

SERVERS = {"kafka.bootstrap.servers": "one:9092,two:9092"}


def settings(**more: str) -> ClientSettings:
    return ClientSettings.of(SERVERS | {f"kafka.{name.replace('_', '.')}": value for name, value in more.items()})


def test_the_servers_are_all_that_is_needed() -> None:
    assert settings() == ClientSettings("one:9092,two:9092")


def test_names_are_read_in_any_case() -> None:
    assert ClientSettings.of({"KAFKA.Bootstrap.Servers": "a:1", "subscribe": "t"}) == ClientSettings("a:1")


@pytest.mark.parametrize("options", [{}, {"kafka.bootstrap.servers": " "}, {"bootstrap.servers": "a:1"}])
def test_without_servers_nothing_goes(options: dict[str, str]) -> None:
    with pytest.raises(SettingRefused, match=r"kafka.bootstrap.servers is missing"):
        ClientSettings.of(options)


def test_what_acts() -> None:
    assert settings(
        client_id="me",
        request_timeout_ms="1000",
        default_api_timeout_ms="2000",
        delivery_timeout_ms="3000",
        isolation_level="READ_COMMITTED",
        max_partition_fetch_bytes="4000",
        compression_type="zstd",
        batch_size="5000",
        acks="all",
        security_protocol="plaintext",
    ) == ClientSettings(
        "one:9092,two:9092",
        client_id="me",
        request_timeout_ms=1000,
        api_timeout_ms=2000,
        delivery_timeout_ms=3000,
        isolation="read_committed",
        fetch_bytes=4000,
        codec=Codec.ZSTD,
        batch_bytes=5000,
    )


def test_fewer_acknowledgements_give_up_idempotence() -> None:
    assert settings(acks="1").idempotent is False
    assert settings(enable_idempotence="false").idempotent is False


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("acks", "2"),
        ("compression.type", "brotli"),
        ("request.timeout.ms", "soon"),
        ("batch.size", "0"),
        ("isolation.level", "snapshot"),
        ("enable.idempotence", "maybe"),
    ],
)
def test_a_value_that_makes_no_sense_is_named(name: str, value: str) -> None:
    with pytest.raises(SettingRefused, match=f"kafka.{name} cannot be '{value}'"):
        ClientSettings.of(SERVERS | {f"kafka.{name}": value})


@pytest.mark.parametrize(
    "name",
    [
        "sasl.kerberos.service.name",
        "ssl.cipher.suites",
        "auto.offset.reset",
        "key.deserializer",
        "value.deserializer",
        "enable.auto.commit",
        "interceptor.classes",
    ],
)
def test_what_is_refused(name: str) -> None:
    with pytest.raises(SettingRefused, match=f"kafka.{name}") as caught:
        ClientSettings.of(SERVERS | {f"kafka.{name}": "TLS"})
    assert "\n" not in str(caught.value)


JAAS = 'org.apache.kafka.common.security.scram.ScramLoginModule required username="alice" password="hidden";'


def test_security_travels_and_is_not_shown() -> None:
    given = settings(
        security_protocol="sasl_ssl",
        sasl_mechanism="SCRAM-SHA-512",
        sasl_jaas_config=JAAS,
        ssl_truststore_location="trust.p12",
        ssl_truststore_password="hidden",
        ssl_keystore_key="hidden",
    )
    there = pickle.loads(pickle.dumps(given))
    assert there == given
    assert there.security.identity == Identity("SCRAM-SHA-512", "alice", "hidden")
    assert there.security.tls.trust.password == "hidden"
    assert "hidden" not in f"{there} {there!r}"


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"security_protocol": "TLS"}, "security.protocol is one of PLAINTEXT, SSL"),
        ({"sasl_jaas_config": JAAS.rstrip(";")}, "sasl.jaas.config cannot be read"),
        ({"sasl_password": "hidden"}, "needs a name and a password"),
        ({"sasl_mechanism": "GSSAPI", "sasl_jaas_config": JAAS}, "Kerberos is not supported"),
    ],
)
def test_what_lets_nobody_in_is_said_without_secrets(changes: dict[str, str], complaint: str) -> None:
    with pytest.raises(SettingRefused, match=complaint) as caught:
        settings(**{"security_protocol": "SASL_SSL", "sasl_mechanism": "PLAIN", **changes})
    assert "hidden" not in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", sorted(SECRETS))
def test_a_table_keeps_no_secrets(name: str) -> None:
    with pytest.raises(OptionError, match="readable in the schema") as caught:
        with_options(schema(value="binary"), {f"Kafka.{name}": "hidden"})
    assert "hidden" not in str(caught.value)


def test_one_warning_for_all_that_has_no_meaning() -> None:
    with pytest.warns(UserWarning, match=r"ignored: kafka.metric.reporters, kafka.send.buffer.bytes$"):
        settings(send_buffer_bytes="1", metric_reporters="x")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        settings(group_id="g", linger_ms="5", max_poll_records="500")


def test_a_task_travels() -> None:
    task = ReadTask(settings(), "t", 3, 10, 20, topic_id=bytes(16))
    assert pickle.loads(pickle.dumps(task)) == task
    assert hash(task.settings) == hash(settings())


def schema(**columns: str) -> StructType:
    made = StructType()
    for name, kind in columns.items():
        made = made.add(name, kind)
    return made


def test_the_option_names_the_topic_or_a_column_does() -> None:
    options = {**SERVERS, "topic": " orders "}
    assert sink_settings(options, schema(value="string")).topic == "orders"
    assert sink_settings(options, schema(value="binary", topic="integer")).topic == "orders"
    assert sink_settings(SERVERS, schema(value="binary", topic="string")).topic is None
    with pytest.raises(SettingRefused, match="the option `topic`"):
        sink_settings(SERVERS, schema(value="binary"))


@pytest.mark.parametrize("column", ["key", "value", "partition", "topic"])
def test_columns_have_the_types_of_sparks_sink(column: str) -> None:
    columns = {"value": "string", "topic": "string", column: "double"}
    with pytest.raises(SettingRefused, match=f"the column `{column}` is double and must be"):
        sink_settings(SERVERS, schema(**columns))


def test_a_value_is_required() -> None:
    with pytest.raises(SettingRefused, match="no column `value`"):
        sink_settings(SERVERS, schema(topic="string"))


def test_the_column_of_times_must_be_one() -> None:
    options = {**SERVERS, "topic": "t", "timestampColumn": "at"}
    assert sink_settings(options, schema(value="string", at="timestamp")).timestamp_column == "at"
    for wrong in (schema(value="string"), schema(value="string", at="string")):
        with pytest.raises(SettingRefused, match="timestampColumn names at"):
            sink_settings(options, wrong)
