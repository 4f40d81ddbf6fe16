"""Workers take Spark's modules from where they are installed, and everything else from where they are told to."""

import os
import subprocess
import sys
from pathlib import Path

import pyspark
import pytest

from penstock.spark.interpreter import worker_python

SPARK_HOME = Path(pyspark.__file__).parent


def path_seen_by(python: str, given: list[str]) -> str:
    program = "import os; print(os.environ['PYTHONPATH'])"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(given)}
    command = [python, "-S", "-c", program]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.strip()


def test_only_the_archives_of_this_spark_leave_the_path(tmp_path: Path) -> None:
    python = worker_python(tmp_path, SPARK_HOME)
    archives = [str(archive) for archive in (SPARK_HOME / "python" / "lib").iterdir()]
    assert len(archives) == 2
    others = ["/some where/my.zip", "/*", "/elsewhere/python/lib/pyspark.zip"]
    assert path_seen_by(python, [*archives, *others, *archives]) == os.pathsep.join(others)
    assert path_seen_by(python, archives) == ""


def test_a_spark_that_is_no_package_of_this_python_keeps_its_archives(tmp_path: Path) -> None:
    assert worker_python(tmp_path / "house", tmp_path / "spark") == sys.executable
    assert not (tmp_path / "house").exists()


def test_where_nothing_can_be_written_workers_run_as_ever(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert worker_python(tmp_path / "file" / "house", SPARK_HOME) == sys.executable


@pytest.mark.parametrize("arguments", [["a b", "$HOME", ""], []])
def test_arguments_arrive_as_they_are(tmp_path: Path, arguments: list[str]) -> None:
    python = worker_python(tmp_path, SPARK_HOME)
    command = [python, "-S", "-c", "import sys; print(sys.argv[1:])", *arguments]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == f"{arguments}\n"
