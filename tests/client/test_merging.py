"""The merge by timestamp, over logs that live in lists."""

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.client.merging import merge_by_timestamp
from penstock.client.metadata import TopicPartition
from penstock.client.reading import Chunk
from penstock.core.records.record import Record


class ListReader:
    """As much of a `Reader` as the merge uses; gives at most `step` records of a partition at a time."""

    def __init__(self, logs: dict[int, list[int]], step: int) -> None:
        self._logs = {
            TopicPartition("t", number): [Record(offset, at, None, b"", ()) for offset, at in enumerate(times)]
            for number, times in logs.items()
        }
        self._step = step
        self.positions = dict.fromkeys(self._logs, 0)
        self.buffered_max = 0

    @property
    def open(self) -> list[TopicPartition]:
        return [where for where, log in self._logs.items() if self.positions[where] < len(log)]

    def is_caught_up(self, where: TopicPartition) -> bool:
        return self.positions[where] >= len(self._logs[where])

    def poll(self, wait_ms: int | None = None, only: Iterable[TopicPartition] = ()) -> list[Chunk]:
        chunks = []
        for where in only:
            log, position = self._logs[where], self.positions[where]
            records = log[position : position + self._step]
            self.positions[where] += len(records)
            chunks.append(Chunk(where, records, self.positions[where], len(log)))
        return chunks


def merged(logs: dict[int, list[int]], step: int = 2) -> list[tuple[int, int]]:
    """(timestamp, partition) in the order of the merge."""
    reader = ListReader(logs, step)
    return [(record.timestamp, where.partition) for where, record in merge_by_timestamp(reader)]  # type: ignore[arg-type]


def test_the_lowest_timestamp_comes_first() -> None:
    assert merged({0: [1, 4, 6], 1: [2, 3, 5]}) == [(1, 0), (2, 1), (3, 1), (4, 0), (5, 1), (6, 0)]


def test_equal_timestamps_go_by_partition() -> None:
    assert merged({1: [5, 5], 0: [5]}) == [(5, 0), (5, 1), (5, 1)]


def test_an_empty_partition_holds_nobody_up() -> None:
    assert merged({0: [], 1: [1, 2, 3, 4, 5]}) == [(at, 1) for at in (1, 2, 3, 4, 5)]


def test_a_log_whose_timestamps_go_back_keeps_its_order() -> None:
    assert merged({0: [5, 1], 1: [2]}) == [(2, 1), (5, 0), (1, 0)]


@given(
    st.dictionaries(st.integers(0, 3), st.lists(st.integers(0, 20)).map(sorted), max_size=4),
    st.integers(1, 5),
)
def test_ordered_logs_merge_into_one_ordered_log(logs: dict[int, list[int]], step: int) -> None:
    expected = sorted((at, number) for number, times in logs.items() for at in times)
    assert merged(logs, step) == expected


@pytest.mark.parametrize("step", [1, 100])
def test_nothing_is_lost_when_partitions_end_at_different_times(step: int) -> None:
    assert merged({0: [1], 1: [0, 9], 2: [3, 3, 3]}, step) == [(0, 1), (1, 0), (3, 2), (3, 2), (3, 2), (9, 1)]
