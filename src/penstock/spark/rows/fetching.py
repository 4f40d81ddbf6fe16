"""`read_range`: what a reading task does on an executor."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Final

import pyarrow as pa

from penstock.client.batches import AbortedFilter
from penstock.client.metadata import TopicPartition
from penstock.client.offsets import READ_COMMITTED, READ_UNCOMMITTED
from penstock.client.ranges import Fetched, RangeLost, RangeReader
from penstock.core.base.errors import PenstockError
from penstock.core.records.batch import BatchHeader
from penstock.core.records.errors import CorruptBatch
from penstock.spark.rows.decode import Cut, decode, stretches
from penstock.spark.rows.links import client_of
from penstock.spark.rows.prefetching import Ahead
from penstock.spark.rows.tasks import ReadTask

# Besides the answer that is being decoded and the one that is coming in, this much may wait.
WAITING_BYTES_MAX: Final = 8 * 1024 * 1024


class DataLost(PenstockError):
    """Records that a query planned to read are gone; the query says what that means to it by failOnDataLoss."""


def read_range(task: ReadTask) -> Iterator[pa.RecordBatch]:
    """The rows of a range in order. The next fetch is under way while Spark takes a batch."""
    for fetched in Ahead(lambda: _fetches(task), lambda fetched: len(fetched.blob), WAITING_BYTES_MAX):
        cut = Cut(task.topic, task.partition, fetched.first, task.end, task.columns)
        try:
            for stretch in stretches(fetched.blob, _visible(fetched, task), task.batch_rows):
                rows = decode(stretch, cut)
                for first in range(0, rows.num_rows, task.batch_rows):
                    yield rows.slice(first, task.batch_rows)
        except CorruptBatch as failure:
            raise PenstockError(f"{task.topic}-{task.partition}: {failure}") from failure


def _fetches(task: ReadTask) -> Iterator[Fetched]:
    with client_of(task.settings) as client:
        yield from RangeReader(
            client,
            TopicPartition(task.topic, task.partition),
            task.start,
            task.end,
            topic_id=task.topic_id,
            isolation=READ_COMMITTED if task.isolation == "read_committed" else READ_UNCOMMITTED,
            fetch_bytes=task.fetch_bytes or task.settings.fetch_bytes,
            stall_seconds_max=task.settings.api_timeout_ms / 1000,
            on_loss=lambda loss: _report(task, loss),
        )


def _visible(fetched: Fetched, task: ReadTask) -> Iterator[tuple[int, BatchHeader]]:
    """The batches with records for the reader: neither marks of the cluster nor what was aborted."""
    hidden = AbortedFilter(fetched.aborted)
    for at, header in fetched.batches:
        if not hidden.hides(fetched.blob, at, header) and header.base_offset < task.end:
            yield at, header


def _report(task: ReadTask, loss: RangeLost) -> None:
    planned = f"the query planned to read offsets {task.start} to {task.end - 1} of {loss.where}"
    if task.fail_on_data_loss:
        raise DataLost(f"{loss}; {planned}. With failOnDataLoss=false it goes on with what is there") from loss
    warnings.warn(f"{loss}; {planned} and goes on, because failOnDataLoss is false", RuntimeWarning, stacklevel=2)
