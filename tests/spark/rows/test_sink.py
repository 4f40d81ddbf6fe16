"""The sink under Spark itself: what a batch query and a stream write is what a query reads."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as f

from penstock.testing import Broker

pytestmark = pytest.mark.spark

ROWS = 25_000


def test_a_batch_query_and_a_stream_write_every_row(
    spark: SparkSession, broker: Broker, topic: str, tmp_path: Path
) -> None:
    servers = {"kafka.bootstrap.servers": broker.bootstrap}
    broker.create_topic(f"{topic}-copy", 2)
    number = f.col("id").cast("string")
    header = f.array(f.struct(f.lit("origin").alias("key"), number.cast("binary").alias("value")))
    rows = spark.range(ROWS).select(
        number.alias("key"), f.lpad(number, 30, "x").alias("value"), header.alias("headers")
    )
    rows.write.format("penstock").options(**servers, topic=topic).mode("append").save()

    source = spark.readStream.format("penstock").options(**servers, subscribe=topic, includeHeaders="true")
    copy = source.option("startingOffsets", "earliest").load().withColumn("topic", f.lit(f"{topic}-copy"))
    sink = copy.drop("partition").writeStream.format("penstock").options(**servers)
    sink.option("checkpointLocation", str(tmp_path)).trigger(availableNow=True).start().awaitTermination()

    read = spark.read.format("penstock").options(**servers, subscribe=f"{topic}-copy", includeHeaders="true").load()
    fits = (f.lpad(f.col("key").cast("string"), 30, "x") == f.col("value").cast("string")) & (
        f.col("headers")[0]["value"] == f.col("key")
    )
    (found,) = read.select(f.count("*"), f.countDistinct("key"), f.min(fits), f.countDistinct("partition")).collect()
    assert tuple(found) == (ROWS, ROWS, True, 2)
