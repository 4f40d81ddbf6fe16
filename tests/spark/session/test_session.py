"""What a session is given before Java starts; one is started for real."""

import importlib.util
import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pyspark
import pytest

from penstock.core.base.errors import PenstockError
from penstock.spark.session import SparkMissing, check_master, local_cores, plan, require_spark, session

PROGRAM = """
import json, os, penstock.spark
spark = penstock.spark.session("trial", master="local[2]", settings={"spark.driver.extraJavaOptions": "-Dtrial=yes"})
rows = spark.range(100).mapInArrow(lambda batches: batches, "id long").count()
spark.range(0, 3_000_000, 1, 2).mapInArrow(lambda batches: batches, "id long").take(3)
def found(_):
    import pyspark, sys
    return sys.executable, pyspark.__file__
worker, modules = spark.sparkContext.parallelize([1], 1).map(found).first()
spark.sql("create table kept using parquet as select 1 as one")
jvm = spark.sparkContext._jvm.java.lang.System
same = penstock.spark.session() is spark
print(json.dumps({"rows": rows, "trial": jvm.getProperty("trial"), "host": spark.conf.get("spark.driver.host"),
                  "ui": spark.sparkContext.uiWebUrl, "worker": worker, "modules": modules, "same": same,
                  "parallel": spark.sparkContext.defaultParallelism}))
"""


@pytest.mark.parametrize(
    ("master", "cores"), [("local", 1), ("local[3]", 3), ("local[*]", 8), ("local[4,2]", 4), ("local[*, 3]", 8)]
)
def test_how_many_cores_a_master_means(master: str, cores: int) -> None:
    assert local_cores(master, 8) == cores


def test_here_everything_is_on_loopback_and_small() -> None:
    chosen = plan("me", "local[2]", ui=False)

    assert chosen["spark.driver.host"] == chosen["spark.driver.bindAddress"] == "127.0.0.1"
    assert chosen["spark.ui.enabled"] == "false"
    assert chosen["spark.sql.shuffle.partitions"] == "2"


def test_a_standalone_cluster_of_which_nobody_answers_is_one_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        open_port = listening.getsockname()[1]
        check_master(f"spark://127.0.0.1:1,127.0.0.1:{open_port}")
    for elsewhere in (
        "local",
        "local[2]",
        "local[*, 3]",
        "local-cluster[2,1,1024]",
        "yarn",
        "k8s://https://far.example",
    ):
        check_master(elsewhere)
    for nonsense in ("sparks://here:7077", "local[x]", "here"):
        with pytest.raises(PenstockError, match="is no master, such as"):
            check_master(nonsense)
    with pytest.raises(PenstockError) as nobody:
        check_master(f"spark://127.0.0.1:{open_port}")
    said = f"no Spark master answers at spark://127.0.0.1:{open_port} (127.0.0.1:{open_port}: Connection refused)"
    assert str(nobody.value) == said
    for nonsense in ("spark://", "spark://here", "spark://:7077", "spark://here:port"):
        with pytest.raises(PenstockError, match="spark://HOST:PORT"):
            check_master(nonsense)


def test_a_cluster_chooses_for_itself() -> None:
    assert "spark.driver.host" not in plan("me", "spark://far.example:7077", ui=True)
    assert "spark.sql.shuffle.partitions" not in plan("me", "yarn", ui=True)
    assert plan("me", "spark://127.0.0.1:7077", ui=True)["spark.driver.host"] == "127.0.0.1"
    assert plan("me", "yarn", ui=True)["spark.ui.enabled"] == "true"


def test_where_spark_is_not_installed_one_line_says_how(monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "pyarrow" else find(name))

    with pytest.raises(SparkMissing, match=r"^pyarrow is not installed: pip install 'penstock\[spark\]'$"):
        require_spark()
    with pytest.raises(SparkMissing):
        session()


@pytest.mark.spark
def test_a_session_works_and_leaves_nothing_where_it_stood(tmp_path: Path) -> None:
    environment = {**os.environ, "PYSPARK_PYTHON": "/not/a/python"}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    assert facts == {
        "rows": 100,
        "trial": "yes",
        "host": "127.0.0.1",
        "ui": None,
        "worker": sys.executable,
        "modules": pyspark.__file__,
        "same": True,
        "parallel": 2,
    }
    assert list(tmp_path.iterdir()) == []
    assert "WARN " not in done.stderr
    # `take` hangs up on workers that have more to say.
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_the_package_gives_the_function_whoever_imports_the_module_first() -> None:
    program = "import penstock.spark.pipelines.running, penstock.spark; print(callable(penstock.spark.session))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"


@pytest.mark.slow
def test_importing_the_package_loads_no_spark() -> None:
    program = "import penstock.spark, sys; print('pyspark' in sys.modules or 'pyarrow' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
