"""A session that is not ours, in an environment that is not activated: what `pip install` alone must be enough for."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from penstock.testing import Broker
from tests.packaging.installed import Installed, build_wheel
from tests.spark.environment import QUICK_SUBMIT, calm_settings

PROGRAM_S_MAX = 180.0
PROGRAM = """
import json, sys
from pyspark.sql import SparkSession

bootstrap, topic, settings = sys.argv[1:]
builder = SparkSession.builder.master("local[1]")
for name, value in json.loads(settings).items():
    builder = builder.config(name, value)
spark = builder.getOrCreate()
node = {"kafka.bootstrap.servers": bootstrap}

def refusal(write):
    try:
        write()
    except Exception as refused:
        return str(refused)

rows = spark.range(3).selectExpr("CAST(id AS STRING) AS value")
rows.write.format("penstock").options(**node, topic=topic).save()
rows.write.save(format="penstock", mode="append", topic=topic, **node)
overwritten = refusal(rows.write.mode("overwrite").format("penstock").options(**node, topic=topic).save)
rows.write.save(sys.argv[2])
files = refusal(lambda: rows.write.save(sys.argv[2]))
count = spark.read.format("penstock").options(**node, subscribe=topic).load().count()
print(json.dumps({"count": count, "overwritten": overwritten, "files": files}))
"""


@pytest.fixture
def python(tmp_path: Path) -> Path:
    """The interpreter of an environment into which the wheel and Spark are installed."""
    return Installed(tmp_path / "installed", build_wheel(tmp_path / "dist"), "spark").folder / "bin" / "python"


@pytest.fixture
def path(tmp_path: Path) -> str:
    """A PATH whose `python3` knows nothing of that environment."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "python3").symlink_to(Path(sys.executable).resolve())
    java = shutil.which("java")
    assert java is not None
    return os.pathsep.join([str(folder), str(Path(java).parent), os.defpath])


@pytest.mark.spark
@pytest.mark.slow
def test_a_plain_session_finds_the_source_and_appends(python: Path, path: str, tmp_path: Path) -> None:
    with Broker(beside=True) as broker:
        broker.create_topic("numbers")
        command = [python, "-c", PROGRAM, broker.bootstrap, "numbers", json.dumps(calm_settings(tmp_path))]
        environment = {"PATH": path, "HOME": str(tmp_path), **QUICK_SUBMIT}
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=PROGRAM_S_MAX
        )
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    assert facts["count"] == 6
    assert 'a topic cannot be overwritten: write with mode("append")' in facts["overwritten"]
    assert "already exists" in facts["files"], "others keep Spark's own default"
