"""A batch of a query into its table: files by the executors, one commit by the driver."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Final

from penstock.spark.lake.delta import Table, TableRefused
from penstock.spark.lake.files import DONE_COLUMN, UTC, Told, WriteFiles, Written
from penstock.spark.lake.places import By, Columns, Origin, Place

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

COMPACT_BATCHES: Final = 16


def write_batch(frame: DataFrame, number: int, place: Place, origin: Origin, by: By, partitions: int) -> None:
    """Add the rows that are not in the table yet. A batch that is there already adds nothing."""
    from pyspark.sql.pandas.types import to_arrow_schema

    if missing := {*Columns.of(frame.columns)} - {*frame.columns}:
        raise TableRefused(
            f"rows of {place.address} have no {', '.join(sorted(missing))}: the transform keeps the columns by which "
            "records are known"
        )
    table = Table.made(place, origin, to_arrow_schema(frame.schema, timezone=UTC), by, number)
    task = WriteFiles(place, by, table.positions(range(partitions)))
    files: list[Written] = []
    ends: dict[int, int] = {}
    for row in frame.mapInArrow(task, DONE_COLUMN).collect():
        told: Told = pickle.loads(row[0])
        files += told.files
        ends |= {one: max(end, ends.get(one, 0)) for one, end in told.ends.items()}
    if files:
        table.commit(files, ends, {"batch": number, "ends": ends})
    if number % COMPACT_BATCHES == COMPACT_BATCHES - 1 and table.compact():
        table.clean()
