"""Our registry held against Kafka's: the same keys, types, defaults, bounds, sentences and descriptions."""

from collections.abc import Iterator, Mapping
from itertools import takewhile
from typing import Any

import pytest

from penstock.core.base.settings import (
    BROKER_KEYS,
    GROUP_KEYS,
    REQUIRED,
    TOPIC_KEYS,
    BrokerSettings,
    Described,
    Dynamic,
    Key,
    Kind,
    SettingError,
    describe_broker,
    describe_topic,
    format_value,
    parse_properties,
    parse_value,
    validate_topic_overrides,
)
from penstock.core.base.settings.validators import Between
from tests.settings.minimal import MINIMAL
from tests.settings.oracle import Oracle, running_oracle

pytestmark = [pytest.mark.java, pytest.mark.slow]


@pytest.fixture(scope="module")
def oracle() -> Iterator[Oracle]:
    with running_oracle() as running:
        yield running


# These belong to Kafka's authorizer, which reads them past its own registry.
AUTHORIZER_KEYS = {"super.users", "allow.everyone.if.no.acl.found"}
QUOTA_KEYS = {
    "leader.replication.throttled.rate",
    "follower.replication.throttled.rate",
    "replica.alter.log.dirs.io.max.bytes.per.second",
}
OWN_PREFIXES = ("penstock.", "auto.balance.")
# A broker that hangs is noticed within seconds here; Kafka waits longer.
QUICKER = {
    "broker.heartbeat.interval.ms": "2000",
    "broker.session.timeout.ms": "9000",
    "controller.quorum.fetch.timeout.ms": "2000",
    "controller.quorum.election.timeout.ms": "1000",
    "controller.quorum.request.timeout.ms": "2000",
}
FIXED_HERE = {name for name, key in BROKER_KEYS.items() if key.is_fixed and key.dynamic is not Dynamic.READ_ONLY}
SCOPES: dict[str, Mapping[str, Key]] = {
    "broker": {
        name: key
        for name, key in BROKER_KEYS.items()
        if not name.startswith(OWN_PREFIXES) and name not in AUTHORIZER_KEYS | QUOTA_KEYS
    },
    "quota": {name: BROKER_KEYS[name] for name in QUOTA_KEYS},
    "topic": {name: key for name, key in TOPIC_KEYS.items() if not name.startswith(OWN_PREFIXES)},
    "group": {name: key for name, key in GROUP_KEYS.items() if not name.startswith(OWN_PREFIXES)},
}
BOUNDS = {
    bound + step
    for keys in SCOPES.values()
    for key in keys.values()
    if isinstance(key.valid, Between)
    for bound in (key.valid.low, key.valid.high)
    if bound is not None
    for step in (-1, 0, 1)
}
LIMITS = {sign * (1 << bits) + step for bits in (15, 31, 63) for sign in (-1, 1) for step in (-1, 0, 1)}
NUMBERS = [*map(str, sorted(BOUNDS | LIMITS)), "+7", "007", "-0", "1e2", "0x10", "1_000", "ten", "1-", "--1", "\u0663"]
REALS = [
    *("0.5", ".5", "5.", "0.50000001", "0.4999", "1.0000001", "1e-4", "1E7", "12345678.9", "1e400", "-0.0", "0.001"),
    *("0.1d", "0.1f", "1.5e3D", "9999999", "e5", ".", "1.5 e3"),
]
WORDS = [
    *("", " ", ",", "a", "a,b", " a , b ", "a,,b", "a,a", ",a", "a,", "compact", "delete", "compact,delete"),
    *("delete , compact", "delete,delete", "compact,other", "COMPACT", "none", "required", "TRUE", "False", "yes"),
    *("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer", "CreateTime", "LogAppendTime", "createtime"),
    *("PLAINTEXT", "SSL", "SASL_SSL", "ssl", "UPGRADE", "upgrade", "Bidirectional", "ES256", "es256", "broker"),
    *("broker,controller", "classic", "classic,consumer,share,streams", "latest", "earliest", "LATEST", "by_duration:"),
    *("by_duration:PT1H", "by_duration:P1DT2H3M4.5S", "by_duration:P", "by_duration:PT", "by_duration:-PT1H"),
    *("by_duration:1h", "by_duration:pt5m", "by_duration:P1D", "read_committed", "read_uncommitted", "READ_COMMITTED"),
    *("1@localhost:9093", "1@[::1]:9093", "x@localhost:9093", "1@localhost", "1@2@c:1", "localhost:9093", "[::1]:9093"),
    *("localhost", ":9093", "localhost:port", "1@h:1,2@h:2", "h:1,h:2", "*", "0:1", "0:1,1:2", "0:1,*", "*,*", "0:x"),
]


def differences(ours: Mapping[Any, Any], theirs: Mapping[Any, Any]) -> dict[Any, Any]:
    """Only what differs, so that a failure names it."""
    return {
        key: (ours.get(key), theirs.get(key)) for key in ours.keys() | theirs.keys() if ours.get(key) != theirs.get(key)
    }


def our_row(key: Key) -> tuple[str, ...]:
    default = "<required>" if key.default is REQUIRED else format_value(key, key.default)
    synonyms = ",".join(f"{synonym.name}*{synonym.factor}" for synonym in key.synonyms)
    default = QUICKER.get(key.name, default)
    return (key.kind.name, "<null>" if default is None else default, key.importance.name, synonyms)


def test_the_same_keys_with_the_same_types_defaults_and_synonyms(oracle: Oracle) -> None:
    lines = iter(oracle.ask([("keys", scope) for scope in SCOPES]))
    for scope, keys in SCOPES.items():
        rows = list(takewhile(lambda row: row != ["end"], lines))
        theirs = {
            name: (kind, default, importance, synonyms) for name, kind, default, importance, _, _, synonyms in rows
        }
        assert differences({name: our_row(key) for name, key in keys.items()}, theirs) == {}
        if scope in ("broker", "quota"):
            modes = {row[0]: row[4] for row in rows}
            assert differences({name: key.dynamic.value for name, key in keys.items()}, modes) == {}
        hidden = {row[0] for row in rows if row[5] == "true" or scope == "quota"}
        assert {name for name, key in keys.items() if key.hidden} == hidden


def probes(key: Key) -> list[str]:
    if key.kind in (Kind.INT, Kind.SHORT, Kind.LONG):
        return [*NUMBERS, *REALS, "", " 5 ", "true"]
    if key.kind is Kind.DOUBLE:
        return [*NUMBERS, *REALS, "", " 0.25 "]
    return [*WORDS, "5"]


def our_answer(key: Key, text: str) -> list[str]:
    try:
        return ["ok", str(format_value(key, parse_value(key, text)))]
    except SettingError as error:
        return ["error", str(error)]


def is_same_answer(ours: list[str], theirs: list[str], key: Key) -> bool:
    if ours[0] == "ok" or theirs[0] == "ok":
        return ours == theirs
    # Kafka tells a missing port from a bad host in addresses; ours says the expected form in both cases.
    return ours == theirs or "host" in str(key.valid) or ours[1].strip() == theirs[1].strip()


def test_every_boundary_value_gets_the_same_answer(oracle: Oracle) -> None:
    # Kafka would load the class that a CLASS setting names.
    asked = [
        (scope, key, text)
        for scope, keys in SCOPES.items()
        for key in keys.values()
        if key.kind is not Kind.CLASS
        for text in probes(key)
    ]
    answers = oracle.ask([("parse", scope, key.name, text) for scope, key, text in asked])
    assert len(answers) == len(asked) > 20_000
    wrong = [
        (key.name, text, ours, theirs)
        for (_, key, text), theirs in zip(asked, answers, strict=True)
        if not is_same_answer(ours := our_answer(key, text), theirs, key)
    ]
    assert wrong == []


TOPIC_OVERRIDES = [
    {},
    {"retention.ms": "-1", "cleanup.policy": ""},
    {"cleanup.policy": "compact,delete"},
    {"cleanup.policy": "shred"},
    {"segment.bytes": "1048575"},
    {"internal.segment.bytes": "14"},
    {"min.compaction.lag.ms": "11", "max.compaction.lag.ms": "10"},
    {"min.compaction.lag.ms": "10", "max.compaction.lag.ms": "10"},
    {"remote.storage.enable": "true"},
    {"remote.storage.enable": "false"},
    {"unknown.name": "1"},
    {"log.retention.ms": "1"},
    {"message.format.version": "3.0"},
    {"compression.type": "brotli"},
    {"compression.gzip.level": "0"},
    {"min.cleanable.dirty.ratio": "1.1"},
    {"leader.replication.throttled.replicas": "*"},
    {"leader.replication.throttled.replicas": "0-1"},
]


def our_judgement(overrides: dict[str, str]) -> list[str]:
    try:
        validate_topic_overrides(overrides)
    except SettingError as error:
        return ["error", str(error)]
    return ["ok"]


def test_topic_overrides_are_judged_alike(oracle: Oracle) -> None:
    answers = oracle.ask(
        [("topic", *(f"{name}={value}" for name, value in given.items())) for given in TOPIC_OVERRIDES]
    )
    assert list(map(our_judgement, TOPIC_OVERRIDES)) == answers


FILES: list[tuple[dict[str, str], dict[str, str]]] = [
    ({}, {}),
    ({"log.retention.hours": "1"}, {"retention.ms": "5", "cleanup.policy": "compact, delete"}),
    ({"log.retention.ms": "7", "log.retention.minutes": "2", "log.roll.hours": "3"}, {}),
    ({"log.retention.minutes": "-9", "log.roll.jitter.ms": "9", "log.flush.scheduler.interval.ms": "50"}, {}),
    ({"log.flush.interval.ms": "10", "log.segment.bytes": "2097152", "min.insync.replicas": "2"}, {"flush.ms": "4"}),
    ({"log.cleaner.min.cleanable.ratio": "0.25", "compression.type": "zstd"}, {"compression.zstd.level": "-7"}),
]


def our_description(scope: str, described: Described) -> tuple[str, ...]:
    synonyms = [f"{origin.name}={origin.value or ''}@{origin.source.value}" for origin in described.synonyms]
    flags = (described.read_only and scope == "broker", described.is_sensitive)
    return (
        "null" if described.value is None else described.value,
        str(described.source.value),
        *(str(flag).lower() for flag in flags),
        str(described.config_type),
        *(synonyms or [""]),
    )


def our_descriptions(file: dict[str, str], topic: dict[str, str]) -> dict[Any, Any]:
    settings = BrokerSettings(file)
    described = [("topic", one) for one in describe_topic(settings, topic)]
    described += [("broker", one) for one in describe_broker(settings)]
    known = [(scope, one) for scope, one in described if not (one.name.startswith(OWN_PREFIXES) or one.name in QUICKER)]
    return {(scope, one.name): our_description(scope, one) for scope, one in known if one.name not in FIXED_HERE}


def question(file: dict[str, str], topic: dict[str, str]) -> tuple[str, ...]:
    pairs = [f"{name}={value}" for given in (file, topic) for name, value in given.items()]
    return ("describe", str(len(file)), *pairs)


def test_descriptions_are_the_same(oracle: Oracle) -> None:
    cases = [(MINIMAL | file, topic) for file, topic in FILES]
    lines = iter(oracle.ask([question(file, topic) for file, topic in cases]))
    for file, topic in cases:
        rows = takewhile(lambda row: row != ["end"], lines)
        theirs: dict[Any, Any] = {(row[0], row[1]): tuple(row[2:]) for row in rows if row[1] not in QUICKER}
        assert len(theirs) > 300
        for name in FIXED_HERE:
            # What their running broker can change, and ours refuses to, ours describes as read-only.
            assert theirs.pop(("broker", name))[2] == "false"
        assert differences(our_descriptions(file, topic), theirs) == {}


PROPERTIES = [
    *(
        "",
        "\n\n",
        "# only\n! comments",
        "a=b",
        "a:b",
        "a b",
        "a\tb",
        "a = b ",
        " a : b",
        "a==b",
        "a= =b",
        "a",
        "a=",
        "=b",
    ),
    *(
        "a\\=b=c",
        "a\\ b=c",
        "a\\:=c",
        "a=1\na=2",
        "a=b\\\n   c",
        "a=b\\\\\nc=d",
        "a=b\\\r\n  c\rd=e",
        "a=\\u0041\\u20ac",
    ),
    *(
        "a=\\t\\n\\r\\f\\q",
        "a=\\",
        "a=b\\",
        "#x\\\na=b",
        "a=b # not a comment",
        "a=1\f2",
        "\fa=b",
        "a\\\n b=c",
        "a=\\\n\nb=c",
    ),
    *(
        "a=\\u00zz",
        "a=\\u",
        "a=b\\\n#c",
        "\\u0061=b",
        "a=\\\\u0041",
        "é=ü",
        "a=b\\\n",
        "a\\\\=b",
        "a : = b",
        "a   b = c",
    ),
]


def hexadecimal(text: str) -> str:
    return text.encode("utf-16-be").hex()


def test_properties_files_are_read_alike(oracle: Oracle) -> None:
    answers = oracle.ask([("properties", hexadecimal(text)) for text in PROPERTIES])
    for text, theirs in zip(PROPERTIES, answers, strict=True):
        try:
            found = sorted(parse_properties(text).items())
            ours = ["ok", *(f"{hexadecimal(name)}={hexadecimal(value)}" for name, value in found)]
        except SettingError as error:
            ours = ["error", str(error)]
        assert [word for word in ours if word] == [word for word in theirs if word], repr(text)
