"""What goes to the workers arrives there, or says what is missing; and what an old Spark is told."""

import importlib
import pickle
import subprocess
import sys
from pathlib import Path

import pyspark
import pytest
from pyspark import cloudpickle
from pyspark.sql.datasource import CaseInsensitiveDict, DataSource
from pyspark.sql.types import BinaryType, StructType

import pyspark_penstock
from penstock.spark.source.batch import BatchReader
from penstock.spark.source.datasource import PenstockSource
from penstock.spark.source.stream import StreamReader

OPTIONS = CaseInsensitiveDict({"kafka.bootstrap.servers": "h:1", "Subscribe": "a"})
SCHEMA = StructType().add("value", BinaryType())
SITE = Path(pyspark.__file__).parent.parent


def packed(thing: object) -> bytes:
    """As Spark packs it."""
    parcel: bytes = cloudpickle.dumps(thing)  # type: ignore[no-untyped-call]  # Spark's copy has no types.
    return parcel


def test_a_source_and_its_readers_survive_the_journey() -> None:
    source = cloudpickle.loads(packed(PenstockSource(OPTIONS)))
    assert isinstance(source, PenstockSource)
    assert source.options["subscribe"] == "a"
    for reader, kind in ((source.reader(SCHEMA), BatchReader), (source.streamReader(SCHEMA), StreamReader)):
        arrived = cloudpickle.loads(packed(reader))
        assert type(arrived) is kind
        assert arrived.shipped_arguments() == reader.shipped_arguments()


@pytest.mark.slow
@pytest.mark.parametrize("what", ["source", "reader"])
def test_a_worker_without_the_package_names_the_fix(what: str, tmp_path: Path) -> None:
    source = PenstockSource(OPTIONS)
    parcel = tmp_path / "parcel"
    parcel.write_bytes(packed(source if what == "source" else source.reader(SCHEMA)))
    # A worker has pyspark on its path and, in an isolated Python, not what this process has.
    for module in ("pyspark", "py4j"):
        (tmp_path / module).symlink_to(SITE / module)
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import pickle; pickle.load(open({str(parcel)!r}, 'rb'))"
    worker = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=False)
    assert worker.returncode == 1
    last_line = worker.stderr.strip().splitlines()[-1]
    assert last_line.startswith('ModuleNotFoundError: format("penstock") cannot run on ')
    assert "No module named 'penstock'" in last_line
    assert "pip install 'penstock[spark]'" in last_line


def test_the_source_is_found_by_the_name_that_spark_looks_for() -> None:
    assert pyspark_penstock.DefaultSource is PenstockSource
    assert PenstockSource.name() == "penstock"
    assert pickle.loads(packed(PenstockSource)) is PenstockSource


@pytest.mark.parametrize("version", ["4.0.1", "4.1.0.dev3"])
def test_an_older_spark_is_told_what_works(version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pyspark, "__version__", version)
    try:
        old = importlib.reload(pyspark_penstock).DefaultSource
        assert issubclass(old, DataSource)
        assert old.name() == "penstock"
        with pytest.raises(RuntimeError, match=rf'needs pyspark 4.2 .* found {version}; format\("kafka"\) works'):
            old(OPTIONS)
    finally:
        monkeypatch.undo()
        importlib.reload(pyspark_penstock)
