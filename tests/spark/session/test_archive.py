"""The class-data-sharing archive: written once, by one, whole."""

import subprocess
import sys
from pathlib import Path

import pytest

from penstock.spark.archive import Archive


@pytest.fixture
def homes(tmp_path: Path) -> tuple[Path, Path, Path]:
    java, spark = tmp_path / "jdk", tmp_path / "spark"
    (java / "bin").mkdir(parents=True)
    (java / "bin" / "java").write_text("java")
    (spark / "jars").mkdir(parents=True)
    (spark / "jars" / "core.jar").write_text("jar")
    return tmp_path / "house", java, spark


def dump(archive: Archive, text: str) -> subprocess.Popen[bytes]:
    """A Java that writes what it was told to write as it ends."""
    (target,) = [o.partition("=")[2] for o in archive.options() if "ArchiveClassesAtExit" in o]
    program = f"open({target!r}, 'w').write({text!r})" if text else ""
    return subprocess.Popen([sys.executable, "-c", program])


def test_the_first_writes_and_the_next_use_it(homes: tuple[Path, Path, Path]) -> None:
    first = Archive(*homes)
    java = dump(first, "classes")
    assert first.is_being_written
    assert not first.path.exists()
    first.settle(java)

    assert first.path.read_text() == "classes"
    assert not first.is_being_written
    assert f"-XX:SharedArchiveFile={first.path}" in Archive(*homes).options()


def test_while_one_writes_others_do_without(homes: tuple[Path, Path, Path]) -> None:
    first, second = Archive(*homes), Archive(*homes)
    java = dump(first, "classes")

    assert second.options() == []
    assert not second.is_being_written
    first.settle(java)


def test_a_writer_that_dies_leaves_the_work_to_the_next(homes: tuple[Path, Path, Path]) -> None:
    program = (
        "import sys; from pathlib import Path; from penstock.spark.archive import Archive\n"
        "a = Archive(*map(Path, sys.argv[1:])); a.options(); a.path.with_suffix('.new').write_text('half')"
    )
    subprocess.run([sys.executable, "-c", program, *map(str, homes)], check=True)
    second = Archive(*homes)
    java = dump(second, "whole")
    second.settle(java)

    assert second.path.read_text() == "whole"


def test_a_java_that_writes_nothing_costs_nothing(homes: tuple[Path, Path, Path]) -> None:
    archive = Archive(*homes)
    archive.settle(dump(archive, ""))

    assert not archive.path.exists()
    second = Archive(*homes)
    second.settle(dump(second, "classes"))
    assert second.path.exists()


def test_another_spark_or_java_has_another_archive(homes: tuple[Path, Path, Path]) -> None:
    before = Archive(*homes).path
    (homes[2] / "jars" / "core.jar").write_text("a longer jar")
    changed_spark = Archive(*homes).path
    (homes[1] / "release").write_text("17.0.16")

    assert len({before, changed_spark, Archive(*homes).path}) == 3


def test_a_place_that_cannot_be_written_is_no_trouble(homes: tuple[Path, Path, Path]) -> None:
    (homes[0]).write_text("a file where the folder should be")

    assert Archive(*homes).options() == []
