"""Text to values and back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.base.settings import (
    BROKER_KEYS,
    TOPIC_KEYS,
    Kind,
    Password,
    SettingError,
    format_value,
    parse_value,
)
from penstock.core.base.settings.text import java_double, java_text


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("num.partitions", " 12\t", 12),
        ("num.partitions", "+3", 3),
        ("auto.create.topics.enable", "FALSE", False),
        ("log.cleaner.min.cleanable.ratio", "1", 1.0),
        ("log.cleanup.policy", "", ()),
        ("log.cleanup.policy", "delete , compact,delete", ("delete", "compact")),
        ("broker.rack", " east ", "east"),
        ("compression.gzip.level", "-1", -1),
        ("create.topic.policy.class.name", "org.example.Policy", "org.example.Policy"),
    ],
)
def test_text_becomes_a_typed_value(name: str, text: str, value: object) -> None:
    parsed = parse_value(BROKER_KEYS[name], text)
    assert parsed == value
    assert type(parsed) is type(value)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("num.partitions", "x", "Invalid value x for configuration num.partitions: Not a number of type INT"),
        ("num.partitions", "2147483648", "Not a number of type INT"),
        ("num.partitions", "0", "Value must be at least 1"),
        ("compression.lz4.level", "18", "Value must be no more than 17"),
        ("compression.gzip.level", "0", "Value must be between 1 and 9 or equal to -1"),
        ("compression.type", "brotli", "String must be one of: uncompressed, zstd, lz4, snappy, gzip, producer"),
        ("log.cleanup.policy", "shred", "String must be one of: compact, delete"),
        ("log.dirs", "", "must not be empty"),
        ("log.dirs", "/a,,/b", "values must not be empty"),
        ("auto.create.topics.enable", "yes", "Expected value to be either true or false"),
        ("log.cleaner.min.cleanable.ratio", "NaN", "Not a number of type DOUBLE"),
        ("log.cleaner.min.cleanable.ratio", "1_0", "Not a number of type DOUBLE"),
        ("controller.quorum.voters", "localhost:1", "`{id}@{host}:{port}`"),
    ],
)
def test_a_bad_value_is_refused_with_what_is_allowed(name: str, text: str, message: str) -> None:
    with pytest.raises(SettingError) as caught:
        parse_value(BROKER_KEYS[name], text)
    assert message in str(caught.value)
    assert name in str(caught.value)


def test_a_secret_shows_itself_only_when_asked() -> None:
    key = BROKER_KEYS["ssl.keystore.password"]
    secret = parse_value(key, "hunter2")
    assert isinstance(secret, Password)
    assert secret.reveal() == "hunter2"
    shown = f"{secret} {secret!r} {[secret]} {format_value(key, secret)}"
    assert "hunter2" not in shown
    assert "[hidden]" in shown
    assert secret == Password("hunter2") != Password("")
    assert not Password("")


BOUNDED = ("retention.ms", "penstock.batch.unpacked.bytes.max")
WHOLE_KEYS = sorted(name for name, key in TOPIC_KEYS.items() if key.kind is Kind.LONG and key.name not in BOUNDED)
LEAST = 1024
"""What all of them take."""


@given(name=st.sampled_from(WHOLE_KEYS), value=st.integers(LEAST, (1 << 63) - 1))
def test_whole_numbers_survive_the_way_out_and_back(name: str, value: int) -> None:
    key = TOPIC_KEYS[name]
    text = format_value(key, value)
    assert text is not None
    assert parse_value(key, text) == value


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_java_doubles_read_back_as_themselves(value: float) -> None:
    text = java_double(value)
    assert float(text) == value
    assert "." in text
    assert "e" not in text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.5, "0.5"),
        (1.0, "1.0"),
        (0.001, "0.001"),
        (0.0001, "1.0E-4"),
        (1e7, "1.0E7"),
        (1.7976931348623157e308, "1.7976931348623157E308"),
        (-12345678.9, "-1.23456789E7"),
        (float("inf"), "Infinity"),
        (True, "true"),
        (("a", "b"), "[a, b]"),
        (None, "null"),
    ],
)
def test_values_are_printed_as_java_does(value: object, text: str) -> None:
    assert java_text(value) == text
