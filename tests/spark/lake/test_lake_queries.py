"""A topic into a table by Spark: each record once when progress is lost or the driver is killed; all engines agree."""

import json
import os
import random
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from penstock.client.blocking import Client
from penstock.spark.pipelines import Pipeline, Registry
from penstock.spark.pipelines.deadletters import create_topics
from penstock.spark.pipelines.laking import lake_of, prepared
from penstock.spark.pipelines.running import Settings, gate_of, start_query
from penstock.testing import Broker
from tests.fresh_seeds import FIRST
from tests.registry.world import registry
from tests.spark.pipelines.runs import dead_letters, origins_in, produce
from tests.spark.typed.test_queries import FIRST as FIRST_SCHEMA
from tests.spark.typed.test_queries import SECOND, write
from tests.waiting import wait_until

pytestmark = pytest.mark.spark

RECORDS = 3_000
QUERY_S_MAX = 300
KILLS = int(os.environ.get("KILLS", "40"))
# DuckDB tells what it leaks when its process ends.
COUNT = """
import duckdb, sys
from deltalake import DeltaTable
history = DeltaTable(sys.argv[1]).to_pyarrow_dataset()
wanted = 'count(*), count(distinct (partition, "offset")), sum("offset")::bigint'
print(duckdb.sql(f"select {wanted} from history").fetchall()[0])
"""


def fill(pipeline: Pipeline, settings: Settings, spark: SparkSession) -> None:
    ready = prepared(pipeline, settings)
    query = start_query(ready, settings, spark, gate_of(ready, settings))
    assert query.awaitTermination(QUERY_S_MAX)


def in_batches(pipeline: Pipeline, size: int) -> Pipeline:
    (source,) = pipeline.sources
    return replace(pipeline, sources=(replace(source, options={**source.options, "maxOffsetsPerTrigger": str(size)}),))


def origins_of(table: str) -> Counter[tuple[int, int]]:
    found = DeltaTable(table).to_pyarrow_dataset().to_table(columns=["partition", "offset"]).to_pydict()
    return Counter(zip(found["partition"], found["offset"], strict=True))


def counted_by_duckdb(table: str) -> tuple[int, ...]:
    done = subprocess.run([sys.executable, "-c", COUNT, table], capture_output=True, text=True, check=True, timeout=120)
    found: tuple[int, ...] = tuple(json.loads(done.stdout.replace("(", "[").replace(")", "]")))
    return found


def counted_by_spark(spark: SparkSession, table: str) -> tuple[int, ...]:
    frame = spark.read.parquet(*DeltaTable(table).file_uris())
    row = frame.selectExpr("count(*)", "count(distinct partition, offset)", "sum(offset)").first()
    assert row is not None
    return tuple(row)


def test_lost_progress_doubles_nothing(spark: SparkSession, broker: Broker, tmp_path: Path) -> None:
    broker.create_topic("kept", 2)
    produce(broker.bootstrap, "kept", [b"%d" % n for n in range(RECORDS)])
    table = str(tmp_path / "table")
    lake = in_batches(lake_of("kept", table, once=True), RECORDS // 2 + 1)
    fill(lake, Settings(broker.bootstrap, once=True, checkpoints=str(tmp_path / "first")), spark)
    assert origins_of(table) == origins_in(broker.bootstrap, "kept")
    produce(broker.bootstrap, "kept", [b"%d" % n for n in range(100)])
    fill(lake, Settings(broker.bootstrap, once=True, checkpoints=str(tmp_path / "second")), spark)
    assert origins_of(table) == origins_in(broker.bootstrap, "kept")
    by_duckdb = counted_by_duckdb(table)
    assert by_duckdb[:2] == (RECORDS + 100, RECORDS + 100)
    assert counted_by_spark(spark, table) == by_duckdb


@pytest.mark.slow
def test_fields_become_columns_and_bad_values_dead_letters(spark: SparkSession, broker: Broker, tmp_path: Path) -> None:
    broker.create_topic("typed")
    table = str(tmp_path / "table")
    settings = Settings(broker.bootstrap, once=True, checkpoints=str(tmp_path / "progress"))
    with registry(broker.bootstrap) as running:
        url = running.rest.url
        lake = lake_of("typed", table, registry=Registry(url), once=True)
        with Client(broker.bootstrap) as client:
            create_topics(lake, client)
        write(broker, url, "typed", FIRST_SCHEMA, {"id": "a", "total": 1}, b"junk")
        fill(lake, settings, spark)
        write(broker, url, "typed", SECOND, {"id": "b", "total": 2, "city": "Bari"})
        fill(lake, settings, spark)
    found = DeltaTable(table).to_pyarrow_dataset().to_table(columns=["_offset", "id", "total", "city"]).to_pylist()
    assert sorted(tuple(row.values()) for row in found) == [(0, "a", 1, None), (2, "b", 2, "Bari")]
    assert [place for place, _, _ in dead_letters(broker.bootstrap, "typed.dlq")] == [(0, 1)]


@pytest.mark.soak
@pytest.mark.timeout(60 * KILLS + 600)
def test_killed_drivers_lose_and_double_nothing(broker: Broker, tmp_path: Path) -> None:
    dice = random.Random(FIRST)
    broker.create_topic("killed", 3)
    table = str(tmp_path / "table")
    command = [sys.executable, "-m", "penstock.cli.main", "pipeline", "lake", "killed", "--to", table, "--every", "0"]
    command += ["--master", "local[2]", "--checkpoints", str(tmp_path / "progress"), "-b", broker.bootstrap]
    for number in range(KILLS):
        produce(broker.bootstrap, "killed", [b"%d" % n for n in range(RECORDS)])
        with (tmp_path / "talk").open("a") as talk:
            run = subprocess.Popen(command, stdout=talk, stderr=talk)
        try:
            before = DeltaTable(table).version() if number else 0
            wait_until(
                lambda now=before: DeltaTable.is_deltatable(table) and DeltaTable(table).version() > now,
                timeout_s=QUERY_S_MAX,
                what="a commit",
            )
            # While it writes the next batch, or none.
            produce(broker.bootstrap, "killed", [b"%d" % n for n in range(dice.randrange(1, RECORDS))])
        finally:
            run.kill()
            run.wait()
        wait_until(lambda: _is_free(broker.bootstrap), timeout_s=30, what="the end of the run to be noticed")
    assert subprocess.run([*command, "--once"], timeout=QUERY_S_MAX, check=False).returncode == 0
    assert origins_of(table) == origins_in(broker.bootstrap, "killed")


def _is_free(bootstrap: str) -> bool:
    status = [
        sys.executable,
        "-m",
        "penstock.cli.main",
        "pipeline",
        "status",
        "lake-killed",
        "-b",
        bootstrap,
        "-o",
        "json",
    ]
    done = subprocess.run(status, capture_output=True, text=True, timeout=60, check=True)
    return json.loads(done.stdout)["state"] not in ("running", "starting")
