"""The whole job that README shows to copy runs."""

import json
import re
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from penstock.testing import Broker
from tests.spark.environment import ROOT

pytestmark = [pytest.mark.spark, pytest.mark.slow]


def test_the_job_to_copy(spark: SparkSession, broker: Broker, tmp_path: Path) -> None:
    (job,) = (
        block
        for block in re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.S)
        if "readStream" in block
    )
    for total in (120, 7.5):
        broker.produce("orders", json.dumps({"city": "Riga", "total": total}))
    changes = {
        "127.0.0.1:9092": broker.bootstrap,
        "checkpoints/large-orders": str(tmp_path / "checkpoints"),
        "query.awaitTermination()": "query.processAllAvailable()",
    }
    for there, here in changes.items():
        assert there in job
        job = job.replace(there, here)
    names: dict[str, object] = {}
    try:
        exec(compile(job, "README.md", "exec"), names)
    finally:
        for query in spark.streams.active:
            query.stop()
    (large,) = broker.records("large-orders")
    assert large.key == b"Riga"
    assert (large.json()["total"], large.json()["tax"]) == (120.0, 24.0)
