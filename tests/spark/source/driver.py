"""A query in a process of its own, to be killed: each batch becomes a file, and the last line says that all is read."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from tests.spark.environment import calm_settings


def main(bootstrap: str, topic: str, batch_records: str, folder: Path) -> None:
    builder = SparkSession.builder.master("local[2]").appName("killed")
    for name, value in calm_settings(folder / "scratch").items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    options = {"startingOffsets": "earliest", "maxOffsetsPerTrigger": batch_records, "commitGroup": topic}
    reader = spark.readStream.format("penstock").options(**options, subscribe=topic)
    frame = reader.option("kafka.bootstrap.servers", bootstrap).load()
    out = folder / "batches"

    def keep(rows: DataFrame, number: int) -> None:
        places = [(row.partition, row.offset) for row in rows.select("partition", "offset").collect()]
        unfinished = out / f"{number}.unfinished"
        unfinished.write_text(json.dumps(places))
        unfinished.rename(out / f"{number}.json")

    writer = frame.writeStream.foreachBatch(keep).option("checkpointLocation", str(folder / "checkpoint"))
    writer.trigger(availableNow=True).start().awaitTermination()
    print("all is read", flush=True)
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], Path(sys.argv[4]))
