"""Which Python a session that is not ours lets Java look for sources with. `tests/packaging` runs such a session."""

import os
import sys
from pathlib import Path

import pytest

from penstock.spark.plain import DRIVER_PYTHON, name_interpreter


@pytest.fixture
def other_python(tmp_path: Path) -> Path:
    """A folder with a `python3` that is not the one that runs."""
    (tmp_path / "python3").symlink_to(Path(sys.executable).resolve())
    return tmp_path


def test_an_interpreter_that_somebody_named_is_left_alone(other_python: Path) -> None:
    for name in (DRIVER_PYTHON, "PYSPARK_PYTHON"):
        given = {"PATH": str(other_python), name: "/somewhere/python"}
        assert named(given) == given


def test_an_activated_environment_needs_none_named(other_python: Path) -> None:
    activated = {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{other_python}"}
    assert named(activated) == activated
    assert named({"PATH": str(other_python)})[DRIVER_PYTHON] == sys.executable
    assert named({"PATH": "/nowhere"})[DRIVER_PYTHON] == sys.executable


def named(given: dict[str, str]) -> dict[str, str]:
    environment = dict(given)
    name_interpreter(environment)
    return environment
