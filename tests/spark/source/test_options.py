"""Options as people write them: what they mean, what contradicts what, and the words for it."""

import pytest
from pyspark.sql.datasource import CaseInsensitiveDict

from penstock.client.metadata import TopicPartition
from penstock.core.base.errors import PenstockError
from penstock.spark.source.columns import columns_of, schema_of
from penstock.spark.source.errors import OptionError
from penstock.spark.source.options import Limits, SourceOptions
from penstock.spark.source.places import from_checkpoint, parse_offsets, to_checkpoint
from penstock.spark.source.positions import BEGINNING, END, ByOffset, ByTime
from penstock.spark.source.subscribing import Assign, Subscribe, SubscribePattern

A0, A1, B0 = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)


def options(**given: str) -> CaseInsensitiveDict:
    dotted = {name.replace("__", "."): value for name, value in given.items()}
    return CaseInsensitiveDict({"kafka.bootstrap.servers": "127.0.0.1:9092", "subscribe": "a", **dotted})


def without(name: str, **given: str) -> CaseInsensitiveDict:
    rest = options(**given)
    del rest[name]
    return rest


def test_the_defaults_are_sparks() -> None:
    batch, stream = SourceOptions.for_batch(options()), SourceOptions.for_stream(options())
    assert (batch.start, batch.end) == (BEGINNING, END)
    assert stream.start == END
    assert stream.fail_on_data_loss
    assert stream.limits == Limits(offsets_max=None, offsets_min=None, delay_ms_max=15 * 60 * 1000, bytes_max=None)
    assert (stream.retries.attempts, stream.retries.pause_ms) == (3, 1000)
    assert stream.isolation == "read_uncommitted"
    assert stream.commit_group is None


def test_names_are_found_in_any_case() -> None:
    given = CaseInsensitiveDict(
        {"KAFKA.bootstrap.SERVERS": "h:1", "SUBSCRIBE": "a", "MAXoffsetsPERtrigger": "7", "STARTINGOFFSETS": "Earliest"}
    )
    parsed = SourceOptions.for_stream(given)
    assert (parsed.settings.bootstrap, parsed.limits.offsets_max, parsed.start) == ("h:1", 7, BEGINNING)


def test_the_three_ways_to_name_partitions() -> None:
    assert SourceOptions.for_batch(options(subscribe=" a, b ,a,")).subscription == Subscribe(("a", "b"))
    pattern = SourceOptions.for_batch(without("subscribe", subscribePattern="or.*")).subscription
    assert pattern == SubscribePattern("or.*")
    assert pattern.takes(TopicPartition("my-orders", 3))
    assert not pattern.takes(TopicPartition("my-payments", 3))
    assigned = SourceOptions.for_batch(without("subscribe", assign='{"a":[0,1],"b":[0]}')).subscription
    assert assigned == Assign(frozenset({A0, A1, B0}))
    assert assigned.topics == ("a", "b")
    assert not assigned.takes(TopicPartition("b", 1))


def test_positions_and_which_comes_first() -> None:
    by_offset = '{"a":{"0":23,"1":-1},"b":{"0":-2}}'
    assert SourceOptions.for_stream(options(startingOffsets=by_offset)).start == ByOffset({A0: 23, A1: -1, B0: -2})
    by_times = SourceOptions.for_stream(options(startingOffsets="earliest", startingOffsetsByTimestamp='{"a":{"0":5}}'))
    assert by_times.start == ByTime({A0: 5}, latest_if_none=False)
    one_time = SourceOptions.for_batch(
        options(
            startingTimestamp="77",
            startingOffsetsByTimestamp='{"a":{"0":5}}',
            startingOffsetsByTimestampStrategy="LATEST",
            endingTimestamp="99",
        )
    )
    assert one_time.start == ByTime(77, latest_if_none=True)
    assert one_time.end == ByTime(99, latest_if_none=True)


def test_what_goes_beyond_spark() -> None:
    parsed = SourceOptions.for_stream(
        options(maxBytesPerTrigger="1000000", isolation__level="read_committed", commitGroup="analytics")
    )
    assert (parsed.limits.bytes_max, parsed.isolation, parsed.commit_group) == (
        1_000_000,
        "read_committed",
        "analytics",
    )
    assert SourceOptions.for_stream(options(kafka__isolation__level="read_committed")).isolation == "read_committed"


def test_what_only_streams_know_is_ignored_in_a_batch_and_said(caplog: pytest.LogCaptureFixture) -> None:
    SourceOptions.for_batch(options(maxOffsetsPerTrigger="7", commitGroup="g"))
    assert "ignored in a batch query: maxOffsetsPerTrigger, commitGroup" in caplog.text


@pytest.mark.parametrize(
    ("text", "ms"),
    [("5s", 5000), ("15m", 900_000), ("2min", 120_000), ("300", 300), ("1h", 3_600_000), ("1d", 86_400_000)],
)
def test_durations(text: str, ms: int) -> None:
    assert SourceOptions.for_stream(options(maxTriggerDelay=text)).limits.delay_ms_max == ms


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (without("subscribe"), "one of the options subscribe, subscribePattern, assign must be given"),
        (options(assign='{"a":[0]}'), "only one of"),
        (options(subscribe=" , "), "names no topic"),
        (without("subscribe", assign="a"), 'expects e.g. {"topicA":[0,1]'),
        (without("subscribe", assign="{}"), "names no partition"),
        (without("subscribe", subscribePattern=" "), "is empty"),
        (without("subscribe", subscribePattern="a("), "not a regular expression"),
        (without("kafka.bootstrap.servers"), "kafka.bootstrap.servers"),
        (options(startingOffsets='{"a":{"x":1}}'), "startingOffsets expects"),
        (options(startingOffsets='{"a":{"0":"1"}}'), "startingOffsets expects"),
        (options(startingOffsets="first"), "startingOffsets expects"),
        (options(startingTimestamp="noon"), "milliseconds since 1970"),
        (options(startingOffsetsByTimestampStrategy="guess"), "error or latest"),
        (options(minPartitions="0"), "minPartitions cannot be '0'"),
        (options(minPartitions="1.0"), "minPartitions cannot be '1.0'"),
        (options(maxRecordsPerPartition="-1"), "maxRecordsPerPartition"),
        (options(maxOffsetsPerTrigger="many"), "maxOffsetsPerTrigger"),
        (options(maxBytesPerTrigger="0"), "maxBytesPerTrigger"),
        (options(minOffsetsPerTrigger="9", maxOffsetsPerTrigger="8"), "higher than maxOffsetsPerTrigger"),
        (options(maxTriggerDelay="soon"), "duration"),
        (options(failOnDataLoss="perhaps"), "failOnDataLoss"),
        (options(isolation__level="none"), "isolation.level"),
        (options(commitGroup=" "), "commitGroup"),
        (options(partition__metadata__cache__ttl__ms="0"), "cache.ttl.ms"),
        (options(startingOffset="earliest"), "did you mean startingOffsets?"),
        (options(kafka__auto__offset__reset="earliest"), "auto.offset.reset"),
        (options(kafka__key__deserializer="x"), "key.deserializer"),
        (options(kafka__enable__auto__commit="true"), "enable.auto.commit"),
    ],
)
def test_what_cannot_be_is_refused_in_words(given: CaseInsensitiveDict, words: str) -> None:
    for parse in (SourceOptions.for_batch, SourceOptions.for_stream):
        with pytest.raises(PenstockError) as refused:
            parse(given)
        assert words in str(refused.value)
        assert "\n" not in str(refused.value)


@pytest.mark.parametrize("name", ["endingOffsets", "endingTimestamp", "endingOffsetsByTimestamp"])
def test_a_stream_has_no_end(name: str) -> None:
    with pytest.raises(OptionError, match=f"{name} is not valid in streaming"):
        SourceOptions.for_stream(options(**{name: "latest"}))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"startingOffsets": "latest"}, "can't be latest"),
        ({"endingOffsets": "earliest"}, "can't be earliest"),
        ({"startingOffsets": '{"a":{"0":-1}}'}, "can't be latest"),
        ({"endingOffsets": '{"a":{"0":-2}}'}, "can't be earliest"),
        ({"startingOffsets": '{"a":{"0":5}}', "endingOffsets": '{"a":{"0":4}}'}, "greater than the ending one"),
        ({"startingOffsets": '{"a":{"0":5}}', "endingOffsets": '{"a":{"1":6}}'}, "same partitions"),
        (
            {"startingOffsetsByTimestamp": '{"a":{"0":5}}', "endingOffsetsByTimestamp": '{"a":{"0":4}}'},
            "starting timestamp 5 of a-0 is greater",
        ),
    ],
)
def test_a_batch_goes_from_an_existing_beginning_to_an_existing_end(given: dict[str, str], words: str) -> None:
    with pytest.raises(OptionError, match=words):
        SourceOptions.for_batch(options(**given))


def test_checkpoints_are_written_as_sparks_kafka_source_writes_them() -> None:
    offsets = {B0: 7, A1: 2**40, A0: 23}
    written = to_checkpoint({**offsets, TopicPartition("a", 10): 1})
    assert list(written) == ["a", "b"]
    assert list(written["a"].items()) == [("0", 23), ("1", 2**40), ("10", 1)]
    assert from_checkpoint(to_checkpoint(offsets)) == offsets
    assert to_checkpoint({}) == {}
    assert parse_offsets("x", '{"a.b":{"0":3}}') == {TopicPartition("a.b", 0): 3}


def test_columns() -> None:
    assert schema_of(options()).simpleString() == (
        "struct<key:binary,value:binary,topic:string,partition:int,offset:bigint,timestamp:timestamp,timestampType:int>"
    )
    with_headers = schema_of(options(includeHeaders="true"))
    assert with_headers["headers"].dataType.simpleString() == "array<struct<key:string,value:binary>>"
    few = schema_of(options(columns="offset, value"))
    assert columns_of(few) == ("offset", "value")
    assert columns_of(schema_of(options(columns="headers"))) == ("headers",)


@pytest.mark.parametrize("given", ["value,vlaue", "value,value", ""])
def test_columns_that_topics_do_not_have(given: str) -> None:
    with pytest.raises(OptionError, match="takes each of key, value"):
        schema_of(options(columns=given))


def test_a_schema_that_topics_do_not_have() -> None:
    from pyspark.sql.types import StringType, StructType

    with pytest.raises(OptionError, match="no column `value:string`"):
        columns_of(StructType().add("value", StringType()))
    with pytest.raises(OptionError, match="all of them nullable"):
        columns_of(StructType().add("topic", StringType(), nullable=False))
