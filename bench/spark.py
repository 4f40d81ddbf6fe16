"""`make bench-spark`: format("penstock") beside Spark's own Kafka connector, on the same topics of the same broker.

    python -m bench.spark [--quick] [--only NAME]... [--rounds N] [--cores N]... [--backlog-gb N] [--name NAME]

Ends with 1 when a floor is missed. The floors count with as many cores as the machine has; figures for one core are
there for the reader. "Spark alone" is a source or sink in Python that talks to nobody.
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession

from bench.brokers import PenstockBroker
from bench.report import Line, Rounds, lines_of, print_table
from bench.run import keep, say
from bench.spark_floor import floor_source
from bench.spark_work import LARGE_BYTES, PARTITIONS, SMALL_BYTES, WORKS, Backlog, Place, Work, digest
from bench.topics import topic
from penstock.spark.rows.settings import ClientSettings
from penstock.spark.rows.writing import SinkSettings, write_rows
from penstock.spark.session import session as penstock_session
from tests.spark.environment import WORKER_PATH, calm_settings
from tests.spark.stock import connector_jars

CONNECTORS = ("penstock", "kafka", "floor")
RIVAL = "Spark's Kafka connector"
FILL_ROWS = 20_000
CORES_MAX = 2


@dataclass(frozen=True, slots=True)
class Scale:
    rounds: int
    # All multiples of the partitions and of a stream's batches.
    rows: dict[int, int]
    backlog_gb: float


FULL = Scale(5, {SMALL_BYTES: 8_000_000, LARGE_BYTES: 1_600_000}, 10)
QUICK = Scale(1, {SMALL_BYTES: 400_000, LARGE_BYTES: 80_000}, 0.2)


def main() -> int:
    arguments = parse_arguments()
    scale = QUICK if arguments.quick else FULL
    scale = replace(scale, rounds=arguments.rounds or scale.rounds)
    if arguments.backlog_gb is not None:
        scale = replace(scale, backlog_gb=arguments.backlog_gb)
    chosen = [work for work in WORKS if not arguments.only or work.name in arguments.only]
    lines: list[Line] = []
    rounds: dict[str, Rounds] = {}
    broker = PenstockBroker()
    try:
        broker.start()
        for cores in arguments.cores or (CORES_MAX, 1):
            with session(cores) as spark:
                measure(spark, broker, chosen, scale, cores, lines, rounds)
                if cores == CORES_MAX and (not arguments.only or "backlog" in arguments.only) and scale.backlog_gb:
                    measure_backlog(spark, broker, scale, lines, rounds)
    finally:
        broker.close()
    print_table(lines, f"format('penstock') beside {RIVAL} (medians)", floor="Spark alone")
    keep(lines, rounds, arguments.name or ("spark-quick" if arguments.quick else "spark"), RIVAL)
    return 1 if any(line.verdict == "MISS" for line in lines) else 0


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench.spark", description=f"Penstock's Spark connector beside {RIVAL}.")
    names = [*(work.name for work in WORKS), "backlog"]
    parser.add_argument("--quick", action="store_true", help="one round on small topics")
    parser.add_argument("--only", action="append", choices=names, help="this work; repeatable")
    parser.add_argument("--rounds", type=int, help="rounds of each work")
    parser.add_argument("--cores", type=int, action="append", help="Spark's cores; repeatable")
    parser.add_argument(
        "--backlog-gb", type=float, help="size of the backlog whose reader's memory is watched; 0: none"
    )
    parser.add_argument("--name", help="what the result's file is called, after the date")
    return parser.parse_args()


def measure(
    spark: SparkSession,
    broker: PenstockBroker,
    works: list[Work],
    scale: Scale,
    cores: int,
    lines: list[Line],
    rounds: dict[str, Rounds],
) -> None:
    for value_bytes, rows in scale.rows.items():
        due = [work for work in works if work.value_bytes == value_bytes]
        if not due:
            continue
        with full_topic(spark, broker, rows, value_bytes) as place:
            say(f"both read the same {rows:,} rows of {value_bytes} B, which warms them up")
            assert digest(place, "penstock") == digest(place, "kafka"), "the connectors read different rows"
            spark.dataSource.register(floor_source(rows, value_bytes))
            for work in due:
                named = work if cores == CORES_MAX else replace(work, name=f"{work.name}_{cores}core", ratio_floor=None)
                rounds[named.name] = take_turns(named, place, scale.rounds)
                lines += lines_of(named, rounds[named.name])


def take_turns(work: Work, place: Place, count: int) -> Rounds:
    """All take turns, in an order that changes. The first round is not counted: it compiles the JVM's hot paths."""
    rounds: Rounds = {connector: [] for connector in CONNECTORS}
    for number in range(count + 1):
        for connector in CONNECTORS if number % 2 == 0 else CONNECTORS[::-1]:
            figures = work.run(place, connector)
            if number > 0:
                rounds[connector].append(figures)
                say(f"{work.name} {number} {connector:8} {figures['rows_per_s']:,.0f} rows/s")
    return rounds


def measure_backlog(
    spark: SparkSession, broker: PenstockBroker, scale: Scale, lines: list[Line], rounds: dict[str, Rounds]
) -> None:
    backlog = Backlog()
    rows = int(scale.backlog_gb * 1e9 / LARGE_BYTES)
    with full_topic(spark, broker, rows, LARGE_BYTES) as place:
        figures = backlog.run(place)
    say(f"backlog of {figures['backlog_gb']:.1f} GB: the largest worker took {figures['worker_mb']:.0f} MB")
    rounds[backlog.name] = {"penstock": [figures]}
    lines += lines_of(backlog, rounds[backlog.name])


@contextmanager
def full_topic(spark: SparkSession, broker: PenstockBroker, rows: int, value_bytes: int) -> Iterator[Place]:
    with topic(broker, PARTITIONS) as name:
        say(f"filling a topic with {rows:,} rows of {value_bytes} B")
        sink = SinkSettings(ClientSettings(f"127.0.0.1:{broker.port}"), name)
        write_rows(sink, frames(rows, value_bytes))
        yield Place(spark, broker, name, rows, value_bytes)


def frames(rows: int, value_bytes: int) -> Iterator[pa.RecordBatch]:
    """Values that no codec could shrink, made once and used again; keys that differ."""
    random = np.random.default_rng(1)
    cells = random.integers(0, 256, FILL_ROWS * value_bytes, np.uint8)
    edges = np.arange(FILL_ROWS + 1, dtype=np.int32) * value_bytes
    buffers = [None, pa.py_buffer(edges), pa.py_buffer(cells)]
    values = pa.Array.from_buffers(pa.binary(), FILL_ROWS, buffers)
    for first in range(0, rows, FILL_ROWS):
        count = min(FILL_ROWS, rows - first)
        keys = pa.array(np.arange(first, first + count)).cast(pa.string())
        yield pa.RecordBatch.from_arrays([keys, values[:count]], names=["key", "value"])


@contextmanager
def session(cores: int) -> Iterator[SparkSession]:
    """What `penstock.spark.session()` sets holds for both connectors."""
    os.environ["PYTHONPATH"] = os.pathsep.join(WORKER_PATH)
    with tempfile.TemporaryDirectory(prefix="penstock-bench-spark-") as folder:
        settings = {**calm_settings(Path(folder)), "spark.driver.memory": "2g", "spark.jars": connector_jars()}
        spark = penstock_session("penstock-bench", master=f"local[{cores}]", settings=settings)
        spark.sparkContext.setLogLevel("ERROR")
        try:
            yield spark
        finally:
            spark.stop()


if __name__ == "__main__":
    sys.exit(main())
