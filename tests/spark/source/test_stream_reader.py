"""The stream reader as Spark drives it, call by call, over a finder that answers from a dict."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest
from pyspark.sql.datasource import CaseInsensitiveDict
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxBytes, ReadMaxRows, ReadMinRows

from penstock.client.blocking import Client
from penstock.client.errors import ClientError
from penstock.client.metadata import TopicPartition
from penstock.spark.source import committing
from penstock.spark.source.errors import DataLoss, TargetLost
from penstock.spark.source.finding import Finder, Found
from penstock.spark.source.options import SourceOptions
from penstock.spark.source.places import Offsets
from penstock.spark.source.positions import END, Position
from penstock.spark.source.stream import StreamReader

A0, A1 = TopicPartition("a", 0), TopicPartition("a", 1)
COLUMNS = ("offset", "value")


class FakeFinder(Finder):
    """Partitions that begin and end where the test says."""

    def __init__(self, options: SourceOptions) -> None:
        super().__init__(options)
        self.first: dict[TopicPartition, int] = {A0: 0}
        self.ends: dict[TopicPartition, int] = {A0: 0}
        self.density: dict[TopicPartition, float] = {}
        self.now_renewed: list[str] = []

    def find(self, position: Position, *, is_start: bool) -> Found:
        places = self.ends if position == END else self.first
        return Found(dict(places), frozenset(self.ends if position == END else ()))

    def earliest(self, places: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        return {where: self.first[where] for where in places if where in self.first}

    def latest(self, known: Offsets | None = None) -> dict[TopicPartition, int]:
        return dict(self.ends)

    def bytes_per_offset(self, places: Iterable[TopicPartition]) -> dict[TopicPartition, float]:
        return self.density

    def topic_id(self, topic: str) -> bytes | None:
        return b"0123456789abcdef"

    def take_renewed(self) -> list[str]:
        return self.now_renewed

    def ask_once(self, question: Callable[[Client], object]) -> None:  # type: ignore[override]  # Nobody is asked.
        question(None)  # type: ignore[arg-type]  # The committed group is a fake as well.


def reader(**given: str) -> tuple[StreamReader, FakeFinder]:
    options = CaseInsensitiveDict({"kafka.bootstrap.servers": "h:1", "subscribe": "a", **given})
    parsed = SourceOptions.for_stream(options)
    finder = FakeFinder(parsed)
    return StreamReader(parsed, COLUMNS, finder), finder


def ranges(planned: Iterable[object]) -> list[tuple[int, int, int]]:
    tasks = [part.value for part in planned]  # type: ignore[attr-defined]  # Spark's partitions carry one value.
    return [(task.partition, task.start, task.end) for task in tasks]


def first_batch(stream: StreamReader, limit: ReadLimit | None = None) -> tuple[dict[str, dict[str, int]], object]:
    """What Spark does for a new query: the initial offset, the end, the plan."""
    start = stream.initialOffset()
    end = stream.latestOffset(start, limit or ReadAllAvailable())
    return end, ranges(stream.partitions(stream.initialOffset(), end))


# The first batch


def test_from_the_earliest_offset() -> None:
    stream, finder = reader(startingOffsets="earliest")
    finder.first, finder.ends = {A0: 2}, {A0: 9}
    assert first_batch(stream) == ({"a": {"0": 9}}, [(0, 2, 9)])
    finder.ends = {A0: 11}
    assert stream.latestOffset({"a": {"0": 9}}, ReadAllAvailable()) == {"a": {"0": 11}}
    assert stream.reportLatestOffset() == {"a": {"0": 11}}


def test_from_the_latest_offset_the_first_batch_is_empty_and_nothing_after_it_is_missed() -> None:
    stream, finder = reader()
    finder.ends = {A0: 5}
    start = stream.initialOffset()
    finder.ends = {A0: 8}
    assert stream.initialOffset() == start, "the beginning must not move while Spark asks for it"
    assert stream.latestOffset(start, ReadAllAvailable()) == {"a": {"0": 5}}
    assert stream.partitions(start, {"a": {"0": 5}}) == []
    assert stream.latestOffset({"a": {"0": 5}}, ReadAllAvailable()) == {"a": {"0": 8}}
    assert ranges(stream.partitions({"a": {"0": 5}}, {"a": {"0": 8}})) == [(0, 5, 8)]


def test_a_first_batch_that_was_not_finished_is_run_again_without_its_beginning() -> None:
    """Spark keeps its end; where it began is found anew, and by then the topic has grown and has a new partition."""
    stream, finder = reader()
    finder.first, finder.ends = {A0: 0, A1: 0}, {A0: 30, A1: 4}
    start = stream.initialOffset()
    for _ in range(2):
        assert stream.partitions(start, {"a": {"0": 5}}) == []
    assert stream.latestOffset({"a": {"0": 5}}, ReadAllAvailable()) == {"a": {"0": 30, "1": 4}}
    assert ranges(stream.partitions({"a": {"0": 5}}, {"a": {"0": 30, "1": 4}})) == [(0, 5, 30), (1, 0, 4)]


def test_a_first_batch_from_the_earliest_offset_is_run_again_whole() -> None:
    stream, finder = reader(startingOffsets="earliest")
    finder.first, finder.ends = {A0: 0, A1: 0}, {A0: 30, A1: 4}
    assert ranges(stream.partitions(stream.initialOffset(), {"a": {"0": 5}})) == [(0, 0, 5)]


def test_a_pattern_that_matches_nothing_yet() -> None:
    stream, finder = reader(startingOffsets="earliest")
    finder.first, finder.ends = {}, {}
    assert first_batch(stream) == ({}, [])
    assert stream.reportLatestOffset() is None
    finder.first, finder.ends = {A0: 0}, {A0: 3}
    assert stream.latestOffset({}, ReadAllAvailable()) == {"a": {"0": 3}}
    assert ranges(stream.partitions({}, {"a": {"0": 3}})) == [(0, 0, 3)]


# Limits


def test_the_limits_that_spark_hears_of() -> None:
    assert reader(maxOffsetsPerTrigger="5")[0].getDefaultReadLimit() == ReadMaxRows(5)
    assert reader(maxBytesPerTrigger="5")[0].getDefaultReadLimit() == ReadMaxBytes(5)
    assert reader(minOffsetsPerTrigger="5")[0].getDefaultReadLimit() == ReadMinRows(5)
    assert reader()[0].getDefaultReadLimit() == ReadAllAvailable()


def test_a_limit_counts_new_partitions_from_their_first_offset() -> None:
    stream, finder = reader(startingOffsets="earliest", maxOffsetsPerTrigger="10")
    finder.first, finder.ends = {A0: 0, A1: 40}, {A0: 100, A1: 100}
    assert stream.latestOffset({"a": {"0": 60}}, ReadMaxRows(10)) == {"a": {"0": 64, "1": 46}}


def test_spark_may_lift_the_limit() -> None:
    stream, finder = reader(startingOffsets="earliest", maxOffsetsPerTrigger="10")
    finder.ends = {A0: 100}
    assert stream.latestOffset({"a": {"0": 0}}, ReadMaxRows(10)) == {"a": {"0": 10}}
    assert stream.latestOffset({"a": {"0": 0}}, ReadAllAvailable()) == {"a": {"0": 100}}


def test_the_smaller_of_offsets_and_bytes_counts() -> None:
    stream, finder = reader(startingOffsets="earliest", maxOffsetsPerTrigger="50", maxBytesPerTrigger="1000")
    finder.ends, finder.density = {A0: 100}, {A0: 100.0}
    assert stream.latestOffset({"a": {"0": 0}}, ReadMaxRows(50)) == {"a": {"0": 10}}
    finder.density = {A0: 1.0}
    assert stream.latestOffset({"a": {"0": 0}}, ReadMaxRows(50)) == {"a": {"0": 50}}


def test_little_waits_for_more_but_not_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1_000_000.0]
    monkeypatch.setattr("penstock.spark.source.stream.time.time", lambda: now[0])
    stream, finder = reader(startingOffsets="earliest", minOffsetsPerTrigger="15", maxTriggerDelay="5s")
    finder.ends = {A0: 16}
    limit = stream.getDefaultReadLimit()
    assert stream.latestOffset({"a": {"0": 0}}, limit) == {"a": {"0": 16}}, "the first batch never waits"
    finder.ends = {A0: 22}
    assert stream.latestOffset({"a": {"0": 16}}, limit) == {"a": {"0": 16}}
    finder.ends = {A0: 31}
    assert stream.latestOffset({"a": {"0": 16}}, limit) == {"a": {"0": 31}}
    finder.ends = {A0: 32}
    now[0] += 4.9
    assert stream.latestOffset({"a": {"0": 31}}, limit) == {"a": {"0": 31}}
    now[0] += 0.2
    assert stream.latestOffset({"a": {"0": 31}}, limit) == {"a": {"0": 32}}


# All that is available now


def test_available_now_ends_where_it_was_when_it_began() -> None:
    stream, finder = reader(startingOffsets="earliest", maxOffsetsPerTrigger="6", minOffsetsPerTrigger="6")
    finder.ends = {A0: 10}
    stream.prepareForTriggerAvailableNow()
    end = stream.latestOffset(stream.initialOffset(), ReadMaxRows(6))
    assert end == {"a": {"0": 6}}
    finder.ends = {A0: 99}
    assert stream.latestOffset(end, ReadMaxRows(6)) == {"a": {"0": 10}}, "the rest is less than the minimum"
    assert stream.latestOffset({"a": {"0": 10}}, ReadMaxRows(6)) == {"a": {"0": 10}}


def test_available_now_fails_when_its_end_is_taken_away() -> None:
    stream, finder = reader(startingOffsets="earliest", failOnDataLoss="false")
    finder.ends = {A0: 10}
    stream.prepareForTriggerAvailableNow()
    end = stream.latestOffset(stream.initialOffset(), ReadAllAvailable())
    finder.ends = {A0: 4}
    with pytest.raises(TargetLost, match="a-0"):
        stream.partitions({"a": {"0": 0}}, end)


# Losses


@pytest.mark.parametrize(
    ("begin", "end", "words"),
    [
        ({"a": {"0": 5, "1": 5}}, {"a": {"0": 6}}, "a-1 are gone"),
        ({"a": {"0": 5}}, {"a": {"0": 2}}, "back to 2"),
        ({}, {"a": {"0": 6}}, "starts from offset 3 instead of 0"),
    ],
)
def test_a_loss_ends_the_query_unless_it_is_told_to_go_on(
    begin: dict[str, dict[str, int]], end: dict[str, dict[str, int]], words: str, caplog: pytest.LogCaptureFixture
) -> None:
    strict, finder = reader()
    finder.first = {A0: 3}
    with pytest.raises(DataLoss, match=words) as lost:
        strict.partitions(begin, end)
    assert "failOnDataLoss" in str(lost.value)
    lax, finder = reader(failOnDataLoss="false")
    finder.first = {A0: 3}
    lax.partitions(begin, end)
    assert words in caplog.text


def test_a_topic_made_anew_is_a_loss_even_when_it_is_longer_than_before() -> None:
    stream, finder = reader()
    finder.now_renewed = ["a"]
    with pytest.raises(DataLoss, match="topic a was deleted and created again"):
        stream.partitions({"a": {"0": 5}}, {"a": {"0": 9}})


# The group


class FakeGroups:
    committed: list[tuple[str, dict[TopicPartition, int]]]
    broken = False

    def __init__(self, client: object) -> None:
        pass

    def commit(self, group: str, offsets: dict[TopicPartition, int]) -> None:
        if self.broken:
            raise ClientError("the coordinator moved")
        type(self).committed.append((group, offsets))


def test_the_group_hears_of_every_batch_once_and_of_the_last(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    FakeGroups.committed = []
    monkeypatch.setattr(committing, "Groups", FakeGroups)
    stream, finder = reader(startingOffsets="earliest", commitGroup="g")
    finder.first, finder.ends = {A0: 0, A1: 0}, {A0: 5, A1: 0}
    stream.latestOffset({"a": {"0": 0, "1": 0}}, ReadAllAvailable())
    stream.commit({"a": {"0": 5, "1": 0}})
    stream.latestOffset({"a": {"0": 5, "1": 0}}, ReadAllAvailable())
    monkeypatch.setattr(FakeGroups, "broken", True)
    for _ in range(3):
        stream.latestOffset({"a": {"0": 6, "1": 0}}, ReadAllAvailable())
    assert caplog.text.count("not committed to group g: the coordinator moved") == 1
    monkeypatch.setattr(FakeGroups, "broken", False)
    stream.latestOffset({"a": {"0": 6, "1": 2}}, ReadAllAvailable())
    assert FakeGroups.committed == [("g", {A0: 0, A1: 0}), ("g", {A0: 5}), ("g", {A0: 6, A1: 2})]


def test_without_a_group_nothing_is_committed(monkeypatch: pytest.MonkeyPatch) -> None:
    FakeGroups.committed = []
    monkeypatch.setattr(committing, "Groups", FakeGroups)
    stream, _ = reader()
    stream.commit({"a": {"0": 5}})
    assert FakeGroups.committed == []


# What is sent to executors


def test_a_task_carries_what_an_executor_needs() -> None:
    stream, finder = reader(startingOffsets="earliest", minPartitions="2", failOnDataLoss="false")
    finder.ends = {A0: 10}
    parts = stream.partitions({"a": {"0": 0}}, {"a": {"0": 10}})
    assert ranges(parts) == [(0, 0, 5), (0, 5, 10)]
    task = parts[0].value
    assert (task.topic, task.topic_id, task.columns) == ("a", b"0123456789abcdef", COLUMNS)
    assert (task.settings.bootstrap, task.fail_on_data_loss, task.isolation) == ("h:1", False, "read_uncommitted")
