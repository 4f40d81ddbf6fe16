"""A batch query: positions are found, cut into tasks, and read."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceReader, Filter, InputPartition

from penstock.spark.rows.tasks import ReadTask
from penstock.spark.shipping import Shipped
from penstock.spark.source.errors import DataLoss, OptionError
from penstock.spark.source.filters import Bounds, bounds_of, narrowed
from penstock.spark.source.finding import Finder
from penstock.spark.source.options import SourceOptions
from penstock.spark.source.planning import OffsetRange, Plan, cut, plan_batch

if TYPE_CHECKING:
    from pyarrow import RecordBatch

    from penstock.spark.typed.frames import DecodeColumns

PUSHING_WORKER = "pyspark.sql.worker.data_source_pushdown_filters"
_log = logging.getLogger("penstock.spark")


class BatchReader(Shipped, DataSourceReader):
    """`spark.read.format("penstock")`"""

    def __init__(
        self,
        options: SourceOptions,
        columns: tuple[str, ...],
        typed: DecodeColumns | None = None,
        bounds: Bounds | None = None,
    ) -> None:
        self._options = options
        self._typed = typed
        self._columns = columns
        self._bounds = bounds or Bounds()

    def shipped_arguments(self) -> tuple[Any, ...]:
        return self._options, self._columns, self._typed, self._bounds

    def partitions(self) -> list[InputPartition]:
        finder = Finder(self._options)
        try:
            ranges = self._narrowed(finder, self._plan(finder))
            return tasks(self._options, finder, self._columns, ranges) or [InputPartition(None)]
        finally:
            finder.close()

    def read(self, partition: InputPartition) -> Iterator[RecordBatch]:
        return read_task(partition, self._typed)

    def _plan(self, finder: Finder) -> list[OffsetRange]:
        start = finder.find(self._options.start, is_start=True).offsets
        end = finder.find(self._options.end, is_start=False).offsets
        for where in start.keys() & end.keys():
            if start[where] > end[where]:
                raise OptionError(
                    f"the first offset of {where}, {start[where]}, is greater than its last, {end[where]}: look at the "
                    "starting and ending options, and whether the topic was made anew"
                )
        places = start.keys() & end.keys()
        latest = finder.latest()
        plan = plan_batch(
            {where: start[where] for where in places & latest.keys()}, end, finder.earliest(places), latest
        )
        report(plan, self._options.fail_on_data_loss)
        return plan.ranges

    def _narrowed(self, finder: Finder, ranges: list[OffsetRange]) -> list[OffsetRange]:
        since_ms = self._bounds.since_ms
        places = [part.where for part in ranges if part.size > 0]
        first_since = {} if since_ms is None else finder.since(dict.fromkeys(places, since_ms))
        return narrowed(ranges, self._bounds, first_since)


class FilteringReader(BatchReader):
    """The same, for a session that pushes filters down. Spark refuses such a reader where it does not."""

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:
        self._bounds = bounds_of(filters)
        return filters


def batch_reader(options: SourceOptions, columns: tuple[str, ...], typed: DecodeColumns | None = None) -> BatchReader:
    """Spark makes the reader anew in a worker of another kind when, and only when, it is going to push filters."""
    main = getattr(sys.modules.get("__main__"), "__spec__", None)
    is_pushing = PUSHING_WORKER in sys.modules or getattr(main, "name", None) == PUSHING_WORKER
    # A field of a value may have the name of a topic's column, and says nothing of where records are.
    return (FilteringReader if is_pushing and typed is None else BatchReader)(options, columns, typed)


def tasks(
    options: SourceOptions, finder: Finder, columns: tuple[str, ...], ranges: list[OffsetRange]
) -> list[InputPartition]:
    """What the executors are sent."""
    return [
        InputPartition(
            ReadTask(
                settings=options.settings,
                topic=part.where.topic,
                partition=part.where.partition,
                start=part.start,
                end=part.end,
                topic_id=finder.topic_id(part.where.topic),
                columns=columns,
                isolation=options.isolation,
                fail_on_data_loss=options.fail_on_data_loss,
            )
        )
        for part in cut(ranges, options.partitions_min, options.offsets_per_task_max)
    ]


def read_task(partition: InputPartition, typed: DecodeColumns | None = None) -> Iterator[RecordBatch]:
    """Runs on executors. Spark plans a task even for a query that has none."""
    from penstock.spark.rows.fetching import read_range
    from penstock.spark.rows.workers import settle

    settle()
    if partition.value is None:
        return iter(())
    batches = iter(read_range(partition.value))
    return batches if typed is None else typed(batches)


def report(plan: Plan, fail_on_data_loss: bool) -> None:
    """Losses end the query, or are said in its log."""
    if plan.losses and fail_on_data_loss:
        raise DataLoss("; ".join(plan.losses))
    for loss in plan.losses:
        _log.warning("%s; some data may have been lost, and failOnDataLoss is false", loss)
