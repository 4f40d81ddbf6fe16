"""A stream that copies a topic exactly once, as far as there is something to copy.

python -m tests.spark.exactly_once.program BOOTSTRAP TOPIC FOLDER ROWS_OF_A_BATCH MASTER
"""

import os
import sys
from pathlib import Path

from pyspark.sql import SparkSession

from tests.spark.environment import calm_settings
from tests.spark.exactly_once.crashing import BUG_VARIABLE, VARIABLE


def main(bootstrap: str, topic: str, folder: Path, rows_each: str, master: str) -> None:
    (folder / "driver").write_text(str(os.getpgid(0)))
    builder = SparkSession.builder.master(master).appName("copy")
    # What the driver has from the test, executors on a cluster have from it.
    for name in (VARIABLE, BUG_VARIABLE, "PYTHONPATH"):
        if name in os.environ:
            builder = builder.config(f"spark.executorEnv.{name}", os.environ[name])
    for name, value in calm_settings(folder / "spark").items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    servers = {"kafka.bootstrap.servers": bootstrap, "kafka.request.timeout.ms": "15000"}
    limit = {"maxOffsetsPerTrigger": rows_each, "startingOffsets": "earliest"}
    source = spark.readStream.format("penstock").options(**servers, **limit, subscribe=topic)
    rows = source.load().select("key", "value")
    sink = rows.writeStream.format("penstock").options(**servers, topic=f"{topic}-copy").queryName(f"{topic}-query")
    sink.option("checkpointLocation", str(folder / "checkpoint")).trigger(availableNow=True).start().awaitTermination()
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]), *sys.argv[4:])
