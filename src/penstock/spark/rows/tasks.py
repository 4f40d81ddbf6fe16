"""A task of a reading query: one contiguous range of one partition, and how to read it."""

from __future__ import annotations

from typing import Final, NamedTuple

from penstock.spark.rows.settings import ClientSettings

# The columns of Spark's Kafka source, in its order; `headers` is there when it is asked for.
COLUMNS: Final = ("key", "value", "topic", "partition", "offset", "timestamp", "timestampType", "headers")
BATCH_ROWS: Final = 50_000


class ReadTask(NamedTuple):
    """The records from offset `start` up to, not including, `end`. Travels to an executor as it is."""

    settings: ClientSettings
    topic: str
    partition: int
    start: int
    end: int
    # A topic made anew under its old name has another id. Without one, whatever bears the name is read.
    topic_id: bytes | None = None
    # Which of COLUMNS, in which order; the others are not decoded.
    columns: tuple[str, ...] = COLUMNS[:-1]
    isolation: str = "read_uncommitted"
    fail_on_data_loss: bool = True
    batch_rows: int = BATCH_ROWS
    # How much one fetch asks for; None leaves it to the settings.
    fetch_bytes: int | None = None
