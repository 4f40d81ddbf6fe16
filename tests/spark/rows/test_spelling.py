"""Options that do not exist: what was meant, and what is left alone."""

from pathlib import Path

import pytest

from penstock.spark.rows.settings import SettingRefused
from penstock.spark.rows.spelling import OPTIONS, check_spelling, nearest

# All that ConsumerConfig and ProducerConfig of Kafka 4.3.1 name.
KAFKAS = Path(__file__).with_name("kafka_settings.txt").read_text().split()
SPARKS = ("path", "checkpointLocation", "queryName", "serialization.format", "kafkaConsumer.pollTimeoutMs", "header")


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("startingOffset", "startingOffsets"),
        ("starting_offsets", "startingOffsets"),
        ("max.offsets.per.trigger", "maxOffsetsPerTrigger"),
        ("topics", "topic"),
        ("subscribes", "subscribe"),
        ("bootstrap.servers", "kafka.bootstrap.servers"),
        ("kafka.bootstrap.server", "kafka.bootstrap.servers"),
        ("group.id", "kafka.group.id"),
        ("kafka.compresion.type", "kafka.compression.type"),
    ],
)
def test_what_is_nearly_an_option_is_refused_with_its_name(given: str, meant: str) -> None:
    with pytest.raises(SettingRefused, match=rf"^there is no option {given}: did you mean {meant}\?$"):
        check_spelling(["subscribe", given])


def test_what_exists_or_may_be_sparks_is_left_alone() -> None:
    check_spelling([*OPTIONS, *map(str.upper, OPTIONS), *SPARKS])
    assert [name for name in KAFKAS if nearest(f"kafka.{name}")] == []
