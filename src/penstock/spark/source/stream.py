"""A streaming query: each batch is a pair of offsets, from where the last one ended to as far as the limits allow."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxBytes,
    ReadMaxRows,
    ReadMinRows,
    SupportsTriggerAvailableNow,
)

from penstock.client.metadata import TopicPartition
from penstock.spark.shipping import Shipped
from penstock.spark.source.batch import read_task, report, tasks
from penstock.spark.source.committing import GroupCommitter
from penstock.spark.source.errors import TargetLost
from penstock.spark.source.finding import Finder, Found
from penstock.spark.source.options import SourceOptions
from penstock.spark.source.places import OFFSET_MAX, Offsets, from_checkpoint, listed, to_checkpoint
from penstock.spark.source.planning import Plan, is_enough, offsets_of_bytes, plan_stream, share

if TYPE_CHECKING:
    from pyarrow import RecordBatch

    from penstock.spark.typed.frames import DecodeColumns

Checkpoint = dict[str, dict[str, int]]


class StreamReader(Shipped, DataSourceStreamReader, SupportsTriggerAvailableNow):
    """`spark.readStream.format("penstock")`. Lives in one process on the driver as long as the query runs."""

    def __init__(
        self,
        options: SourceOptions,
        columns: tuple[str, ...],
        finder: Finder | None = None,
        typed: DecodeColumns | None = None,
    ) -> None:
        self._options = options
        self._typed = typed
        self._columns = columns
        self._finder = finder or Finder(options)
        self._committer = GroupCommitter(options.commit_group, self._finder)
        self._initial: Found | None = None
        self._has_planned = False
        self._rerun: tuple[Offsets, Offsets] | None = None
        self._latest: dict[TopicPartition, int] = {}
        self._is_available_now = False
        self._target: dict[TopicPartition, int] | None = None
        self._last_trigger_ms = 0.0

    def shipped_arguments(self) -> tuple[Any, ...]:
        return self._options, self._columns, None, self._typed

    def prepareForTriggerAvailableNow(self) -> None:
        self._is_available_now = True

    def initialOffset(self) -> Checkpoint:
        """Found once. Spark asks again until the first batch is done, and the end of a topic moves."""
        if self._initial is None:
            self._initial = self._finder.find(self._options.start, is_start=True)
        return to_checkpoint(self._initial.offsets)

    def getDefaultReadLimit(self) -> ReadLimit:
        """Spark gives it back to `latestOffset`. It can hold one limit; the options tell the others."""
        limits = self._options.limits
        if limits.offsets_max is not None:
            return ReadMaxRows(limits.offsets_max)
        if limits.bytes_max is not None:
            return ReadMaxBytes(limits.bytes_max)
        return ReadAllAvailable() if limits.offsets_min is None else ReadMinRows(limits.offsets_min)

    def latestOffset(self, start: Checkpoint, limit: ReadLimit) -> Checkpoint:
        """The end of the next batch. Spark asks when the batch before it is done, so `start` has been processed: this
        is how the group hears of the last batch too, which `commit` is never called for."""
        begin = from_checkpoint(start)
        self._committer.processed(begin)
        self._latest = self._available(begin)
        end = self._latest if isinstance(limit, ReadAllAvailable) else self._limited(begin, self._latest)
        if not self._has_planned:
            end = self._first_end(begin, end)
        return to_checkpoint(end)

    def reportLatestOffset(self) -> Checkpoint | None:
        return to_checkpoint(self._latest) or None

    def partitions(self, start: Checkpoint, end: Checkpoint) -> list[InputPartition]:
        begin, until = self._as_planned(from_checkpoint(start), from_checkpoint(end))
        self._has_planned = True
        self._finder.remember(begin)
        plan = plan_stream(begin, until, self._finder.earliest(until.keys() - begin.keys()))
        report(self._with_renewed(plan), self._options.fail_on_data_loss)
        if self._target is not None:
            self._check_still_there(until)
        return tasks(self._options, self._finder, self._columns, plan.ranges)

    def read(self, partition: InputPartition) -> Iterator[RecordBatch]:
        return read_task(partition, self._typed)

    def commit(self, end: Checkpoint) -> None:
        self._committer.processed(from_checkpoint(end))

    def stop(self) -> None:
        self._finder.close()

    # The first batch

    def _first_end(self, begin: Offsets, end: Offsets) -> dict[TopicPartition, int]:
        """A partition that begins at its end gives nothing to the first batch. Spark keeps where a batch ends, but not
        where the first one begins: when it has to be run again, only an empty part of it is known for sure."""
        self._has_planned = True
        at_end = frozenset() if self._initial is None else self._initial.at_end
        return {where: begin[where] if where in at_end and where in begin else offset for where, offset in end.items()}

    def _as_planned(self, begin: Offsets, until: Offsets) -> tuple[Offsets, Offsets]:
        """The offsets of a batch. The first batch of an earlier run comes without its beginning, which is found anew:
        in partitions that began at their end it is where they now end in the checkpoint, and others are not in it."""
        if not self._has_planned and self._initial is not None:
            self._rerun = begin, until
        if self._initial is None or (begin, until) != self._rerun:
            return begin, until
        at_end = self._initial.at_end
        return {where: until[where] if where in at_end else begin[where] for where in until if where in begin}, until

    # The next end

    def _available(self, begin: Offsets) -> dict[TopicPartition, int]:
        """The ends of all partitions; with AvailableNow, as they were when the query began."""
        if not self._is_available_now:
            return self._finder.latest(begin)
        if self._target is None:
            self._target = self._finder.latest(begin)
        return self._target

    def _limited(self, begin: Offsets, latest: dict[TopicPartition, int]) -> Mapping[TopicPartition, int]:
        limits = self._options.limits
        if limits.offsets_min is not None and not self._is_time(limits.offsets_min, begin, latest):
            return begin
        if limits.offsets_max is None and limits.bytes_max is None:
            return latest
        starts = {**self._finder.earliest(latest.keys() - begin.keys()), **begin}
        count = OFFSET_MAX if limits.offsets_max is None else limits.offsets_max
        if limits.bytes_max is not None:
            density = self._finder.bytes_per_offset(latest.keys())
            count = min(count, offsets_of_bytes(limits.bytes_max, starts, latest, density))
        return share(count, starts, latest)

    def _is_time(self, least: int, begin: Offsets, latest: Offsets) -> bool:
        """Whether enough has come, or has waited long enough. AvailableNow waits for nothing that is still to come."""
        now_ms = time.time() * 1000
        waited_ms = now_ms - self._last_trigger_ms
        if self._is_available_now or waited_ms >= self._options.limits.delay_ms_max or is_enough(least, begin, latest):
            self._last_trigger_ms = now_ms
            return True
        return False

    # What went wrong meanwhile

    def _with_renewed(self, plan: Plan) -> Plan:
        renewed = [f"topic {topic} was deleted and created again" for topic in self._finder.take_renewed()]
        return Plan(plan.ranges, plan.losses + renewed)

    def _check_still_there(self, until: Offsets) -> None:
        """With AvailableNow every batch ends before a target that was there: it can only have been taken away."""
        latest = self._finder.latest(until)
        gone = [where for where, end in until.items() if latest.get(where, -1) < end]
        if gone:
            raise TargetLost(
                f"offsets of {listed(gone)} went away while the query was to read all that was there: start it again"
            )
