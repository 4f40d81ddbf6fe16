"""What Spark is given to do with a topic, alike for both connectors: only the word in `format` differs."""

import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from bench.brokers import Broker, scratch_folder
from bench.loadgen import Figures
from bench.processes import biggest_member
from bench.scenarios import Metric
from bench.topics import topic

PARTITIONS = 4
# A stream reads its topic in this many batches, so that what is kept between batches counts.
STREAM_BATCHES = 4
MEMORY_POLL_S = 0.1
WORKER_COMMAND = "pyspark.daemon"
WORKER_MB_MAX = 600
READ_FLOOR = 2.0
STREAM_FLOOR = 1.5
WRITE_FLOOR = 1.5
SMALL_BYTES = 100
LARGE_BYTES = 1000
NUMBER_BYTES = 8
OURS, RIVAL = "penstock", "kafka"
ONCE = {"delivery": "exactly-once", "queryName": "bench"}
ONCE_FLOOR = 1.0
ONCE_BESIDE_OURS_FLOOR = 0.8


@dataclass(frozen=True, slots=True)
class Place:
    """A session, the broker it talks to, and the topic that is full, with its number of rows."""

    spark: SparkSession
    broker: Broker
    full_topic: str
    rows: int
    value_bytes: int

    @property
    def bootstrap(self) -> str:
        return f"127.0.0.1:{self.broker.port}"


@dataclass(frozen=True, slots=True)
class Work:
    """One thing to measure. The floor is a ratio to the other connector, where the issue of speed has one."""

    name: str
    run: Callable[[Place, str], Figures]
    value_bytes: int
    ratio_floor: float | None

    @property
    def metrics(self) -> tuple[Metric, ...]:
        return (Metric("rows_per_s", "rows/s", True, self.ratio_floor),)


def batch_read(place: Place, connector: str) -> Figures:
    started = time.monotonic()
    whole_topic(place, connector).write.format("noop").mode("overwrite").save()
    return {"rows_per_s": place.rows / (time.monotonic() - started)}


def stream_read(place: Place, connector: str) -> Figures:
    stream = place.spark.readStream.format(connector).option("kafka.bootstrap.servers", place.bootstrap)
    stream = stream.option("subscribe", place.full_topic).option("startingOffsets", "earliest")
    # Each partition's share is rounded down: without room for that, the last batch would be of some rows only.
    stream = stream.option("maxOffsetsPerTrigger", place.rows // STREAM_BATCHES + PARTITIONS)
    with scratch() as checkpoint:
        started = time.monotonic()
        query = stream.load().writeStream.format("noop").option("checkpointLocation", str(checkpoint))
        query.trigger(availableNow=True).start().awaitTermination()
        return {"rows_per_s": place.rows / (time.monotonic() - started)}


def batch_write(place: Place, connector: str, **options: str) -> Figures:
    with topic(place.broker, PARTITIONS) as name:
        started = time.monotonic()
        writer = generated(place.spark, place.rows, place.value_bytes).write.format(connector).options(**options)
        writer.option("kafka.bootstrap.servers", place.bootstrap).option("topic", name).mode("append").save()
        return {"rows_per_s": place.rows / (time.monotonic() - started)}


def once_write(place: Place, connector: str) -> Figures:
    """Exactly once, beside the other connector's at least once."""
    return batch_write(place, connector, **(ONCE if connector == OURS else {}))


def once_beside_ours(place: Place, connector: str) -> Figures:
    """Exactly once, beside our own at least once in the column of the other connector."""
    if connector == OURS:
        return batch_write(place, OURS, **ONCE)
    return batch_write(place, OURS if connector == RIVAL else connector)


WORKS = (
    Work("batch_read_100b", batch_read, SMALL_BYTES, READ_FLOOR),
    Work("batch_read_1kb", batch_read, LARGE_BYTES, READ_FLOOR),
    Work("stream_read_100b", stream_read, SMALL_BYTES, STREAM_FLOOR),
    Work("stream_read_1kb", stream_read, LARGE_BYTES, STREAM_FLOOR),
    Work("batch_write_100b", batch_write, SMALL_BYTES, WRITE_FLOOR),
    Work("batch_write_1kb", batch_write, LARGE_BYTES, WRITE_FLOOR),
    Work("once_write_100b", once_write, SMALL_BYTES, ONCE_FLOOR),
    Work("once_beside_ours_100b", once_beside_ours, SMALL_BYTES, ONCE_BESIDE_OURS_FLOOR),
    Work("once_beside_ours_1kb", once_beside_ours, LARGE_BYTES, ONCE_BESIDE_OURS_FLOOR),
)


@dataclass(frozen=True, slots=True)
class Backlog:
    """The memory of the largest Python worker while a long backlog is read."""

    name: str = "backlog"
    metrics: tuple[Metric, ...] = (
        Metric("worker_mb", "MB", False, limit=WORKER_MB_MAX),
        Metric("backlog_gb", "GB", True),
        Metric("rows_per_s", "rows/s", True),
    )

    def run(self, place: Place) -> Figures:
        with watched_workers() as worker_mb:
            figures = batch_read(place, "penstock")
        backlog_gb = place.rows * place.value_bytes / 1e9
        return {**figures, "worker_mb": worker_mb(), "backlog_gb": backlog_gb}


def whole_topic(place: Place, connector: str) -> DataFrame:
    source = place.spark.read.format(connector).option("kafka.bootstrap.servers", place.bootstrap)
    return source.option("subscribe", place.full_topic).load()


def digest(place: Place, connector: str) -> tuple[object, ...]:
    """What both connectors must agree on before their speed means anything."""
    whole = f.struct("key", "value", "topic", "partition", "offset", "timestamp", "timestampType")
    (row,) = whole_topic(place, connector).select(f.count("*"), f.sum(f.xxhash64(whole) % 1_000_003)).collect()
    return tuple(row)


def generated(spark: SparkSession, rows: int, value_bytes: int) -> DataFrame:
    """Rows with a short key and a value of so many bytes. Making them costs a tenth of writing them or less: padding
    each value to its size with `lpad` took most of the time that was measured."""
    number = f.lpad(f.col("id").cast("string"), NUMBER_BYTES, "0")
    padding = f.lit("x" * (value_bytes - NUMBER_BYTES))
    return spark.range(0, rows, 1, PARTITIONS).select(number.alias("key"), f.concat(padding, number).alias("value"))


@contextmanager
def scratch() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="checkpoint-", dir=scratch_folder("spark")))
    try:
        yield folder
    finally:
        shutil.rmtree(folder.parent, ignore_errors=True)


@contextmanager
def watched_workers() -> Iterator[Callable[[], float]]:
    """Gives the memory of the largest Python worker that was seen until it is asked."""
    done = threading.Event()
    seen = [0.0]

    def watch() -> None:
        while not done.wait(MEMORY_POLL_S):
            seen[0] = max(seen[0], biggest_member(WORKER_COMMAND))

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield lambda: seen[0]
    finally:
        done.set()
        watcher.join()
